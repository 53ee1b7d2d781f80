"""What one visitor's tab remembers: the history of its parameters, widgets as views of them, navigation, words."""
