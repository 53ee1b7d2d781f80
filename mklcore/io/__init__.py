"""Models and code in files: archives without pickle, checks of what is read, scripts that make an object again."""
