"""The steps of Ironic by area, see with_ironic.py."""
