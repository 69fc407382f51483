"""A stop request that is made after some iterations of a run."""

from azo.run import metrics


class StopAfter:
    """Is made when the metrics of a run have a number of iterations."""

    def __init__(self, folder, number):
        self.folder, self.number = folder, number

    @property
    def is_made(self):
        return len(metrics.read(self.folder, "iteration")) >= self.number
