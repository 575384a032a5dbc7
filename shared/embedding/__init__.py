"""How a server gets the vector of a query: whom it asks, for which model, and for how long it waits."""
