"""What searches find, and what they never find."""
