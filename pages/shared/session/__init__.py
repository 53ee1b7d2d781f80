"""What one visitor's tab remembers, typed in one place; its history and link, its jobs and files, widgets as views,
words.
"""
