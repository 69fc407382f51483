"""Runs the notebooks of docs from top to bottom in kernels of their own."""

import os
import pathlib
import re

import jax
import pytest
from support.builders import tiny_run

pytestmark = pytest.mark.slow

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("numba", reason="numba is not installed")

NOTEBOOK = pathlib.Path(__file__).parents[1] / "docs" / "demo.ipynb"
NUM_PICTURES = 5

# Appended, to check what the cells above have left; the numbers are those when it was written.
CHECKS = """
policy, value = (
    [event[f"learner/{name}_loss"] for event in events if event[f"learner/{name}_loss"] is not None]
    for name in ("policy", "value")
)
assert np.mean(policy[-5:]) < 0.7 * np.mean(policy[:5]), policy  # 0.78 to 0.29
assert np.mean(value[-5:]) < 0.5 * np.mean(value[:5]), value  # 0.95 to 0.09
assert np.mean(network_right) > np.mean(random_right) + 0.15  # 0.77 and 0.50 of 274 positions
assert np.mean(search_right) > np.mean(random_right) + 0.15  # 0.81
assert right_sign > 0.8  # 0.91
assert thinker.is_over
assert len(values) == len(results) == len(thinker.actions)
assert results[0] == -1  # black loses 4x4 Othello with best play on both sides
assert np.mean(np.abs(np.subtract(values, results))) < 0.6  # 0.1
"""


def read():
    return nbformat.read(NOTEBOOK, as_version=4)


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def pictures(notebook):
    return [output for output in outputs(notebook) if "image/png" in output.get("data", {})]


def execute(notebook, folder):
    """Runs all cells in a kernel that is started in a folder."""
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    package = str(NOTEBOOK.parents[1])
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    cache = str(jax.config.jax_compilation_cache_dir)
    client.execute(env=os.environ | {"PYTHONPATH": path, "JAX_COMPILATION_CACHE_DIR": cache})


def test_the_notebook_learns_and_its_network_is_right_far_more_often_than_chance(tmp_path):
    notebook = read()
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS))
    execute(notebook, tmp_path)
    assert len(pictures(notebook)) == NUM_PICTURES


def test_the_notebook_is_kept_with_the_outputs_of_one_clean_run():
    notebook = read()
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert not [output for output in outputs(notebook) if output.output_type == "error"]
    assert len(pictures(notebook)) == NUM_PICTURES
    assert NOTEBOOK.stat().st_size < 200_000
    texts = "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for output in outputs(notebook)
    )
    assert not re.findall(r"(?:/tmp|/home|/root)\S*", texts)


def test_the_training_notebook_runs_from_top_to_bottom_with_a_small_run(tmp_path):
    notebook = nbformat.read(NOTEBOOK.with_name("train.ipynb"), as_version=4)
    assert not outputs(notebook)
    notebook.cells = [x for x in notebook.cells if "install" not in x.metadata.get("tags", ())]
    (chosen,) = [x for x in notebook.cells if "parameters" in x.metadata.get("tags", ())]
    assert 'settings = {"minutes": 10}' in chosen.source
    game, replay = {"name": "othello", "size": 4}, {"capacity": 256}
    (tmp_path / "small.toml").write_text(tiny_run.toml(game=game, replay=replay))
    chosen.source = 'recipe, settings, folder = "small.toml", {}, "runs/notebook"'
    execute(notebook, tmp_path)
    assert tiny_run.iterations(tmp_path / "runs" / "notebook")[-1] == 6
    assert len(pictures(notebook)) == 1
    assert "discs, black minus white:" in notebook.cells[-1].outputs[-1].text
