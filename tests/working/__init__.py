"""Tests of the work queue and of its rate limiters."""
