"""Finding memories: by words, by meaning, by time and by browsing, over what is live or was live at an instant."""
