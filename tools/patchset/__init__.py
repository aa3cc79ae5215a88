# SPDX-License-Identifier: Apache-2.0
"""A quilt-style patch series on an upstream source tree, kept honest by checks."""


class Refused(Exception):
    """Something the user has to mend; its text is all that is shown."""
