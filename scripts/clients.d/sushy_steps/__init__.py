"""The steps of sushy by area, see with_sushy.py. Each class has the methods of its area."""
