"""What a person chose: typed, frozen, read from a link and written into one. No Streamlit."""
