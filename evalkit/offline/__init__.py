"""Offline evaluation: splits into folds, their audit for leakage, and fitting estimators on
them.
"""
