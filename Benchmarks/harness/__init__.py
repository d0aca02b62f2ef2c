"""What the questions of this folder share: the servers, the load, the raw ceiling, the machine, and the table."""
