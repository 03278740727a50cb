"""The screen: pictures, places, and the text read off them."""
