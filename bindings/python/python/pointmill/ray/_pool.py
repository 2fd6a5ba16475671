"""Pools of actors that take items one by one and keep what they have made."""

import collections
import os

import pyarrow as pa
import ray

import pointmill


def connect():
    """Connect to the cluster, or start one on this machine."""
    if not ray.is_initialized():
        ray.init(log_to_driver=False)


def workers(concurrency, num_gpus):
    """How many actors there are, what each takes, and the threads it works with.

    A pool that takes all CPUs leaves none for the tasks of Ray Data, and the job waits for ever: the actors leave at least one.
    """
    connect()
    resources = ray.cluster_resources()
    cpus = max(1.0, resources.get("CPU", 1.0))
    if concurrency is None:
        concurrency = max(1, int(resources.get("GPU", 0) / num_gpus)) if num_gpus else max(1, int(cpus) - 1)
    if concurrency < 1:
        raise ValueError(f"concurrency: expected at least 1, got {concurrency}")
    if num_gpus and concurrency * num_gpus > resources.get("GPU", 0):
        got = f"{resources.get('GPU', 0):g}"
        raise ValueError(f"num_gpus: expected a cluster with {concurrency * num_gpus:g} GPUs for {concurrency} actors, got {got}")
    num_cpus = min(0.5, max(cpus - 1, 0.5) / concurrency)
    threads = max(1, (os.cpu_count() or 1) // concurrency)
    return concurrency, {"num_cpus": num_cpus, "num_gpus": num_gpus}, threads


class Each:
    """Calls ``make()`` once in an actor, and what it returns with each item of each batch."""

    def __init__(self, make, schema, threads):
        pointmill.set_num_threads(threads)
        self.make, self.schema, self.call = make, schema, None

    def __call__(self, batch):
        # Made here and not by the constructor, so that an error ends the job instead of starting the actor again.
        if self.call is None:
            self.call = self.make()
        rows = [self.call(item) for item in batch.to_pylist()]
        return pa.Table.from_pylist(rows, self.schema)


def run(items, make, schema, concurrency, num_gpus):
    """A dataset with a row for each item, and the number of actors that made it. An error that ``make()(item)`` raises ends the job."""
    size, takes, threads = workers(concurrency, num_gpus)
    data = ray.data.from_items(items, override_num_blocks=max(1, min(len(items), 16 * size)))
    rows = data.map_batches(
        Each,
        batch_size=None,
        batch_format="pyarrow",
        fn_constructor_kwargs={"make": make, "schema": schema, "threads": threads},
        compute=ray.data.ActorPoolStrategy(size=size),
        **takes,
    )
    rows = rows.materialize()
    _check(items, rows)
    return rows, size


def _check(items, rows):
    """Every input is in exactly one row."""
    paths = collections.Counter(item["path"] for item in items)
    paths.subtract(row["path"] for row in rows.iter_rows())
    wrong = [path for path, count in paths.items() if count != 0]
    if wrong:
        raise RuntimeError(f"internal error: {len(wrong)} inputs have no row or two, such as {wrong[0]}; please report it")
