"""The pages of the app, a folder each; what several of them use is in ``shared``."""
