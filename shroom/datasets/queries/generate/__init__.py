"""New debate queries from examples, as davinci-debate was made from its seeds."""
