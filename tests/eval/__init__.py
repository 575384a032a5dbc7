"""The graded set and the ruler made of it."""
