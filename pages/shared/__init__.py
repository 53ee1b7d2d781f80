"""What several pages share: parameters, work in the background, the answer, what is drawn and
exported.
"""
