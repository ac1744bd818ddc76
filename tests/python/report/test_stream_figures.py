"""These tests cover pictures of on-line measurements: ticks and legends of small samples."""

from __future__ import annotations

from matplotlib.backends.backend_agg import FigureCanvasAgg

from trellis.analysis.records.online_records import FlowResult, LoopResult, ValueRecord
from trellis.analysis.records.record import Series
from trellis.report.stream_figures import flow_figure, loops_figure


def test_a_single_creutz_ratio_has_whole_numbers_on_its_axis() -> None:
    one = ValueRecord(value=0.2, error=0.01)
    figure = loops_figure(
        LoopResult(count=5, loops={}, creutz={"2x2": one, "2x3": one}, potential={"1x1": one, "2x1": one})
    )
    FigureCanvasAgg(figure).draw()
    for axes, extents in zip(figure.axes, ([1, 2], [2]), strict=True):
        low, high = axes.get_xlim()
        assert [x for x in axes.get_xticks() if low <= x <= high] == extents


def test_a_negative_creutz_ratio_is_in_its_picture() -> None:
    """The negative ratio is in its picture; once it turned the axis round, and was not on it."""
    creutz = {"2x2": ValueRecord(value=-0.2, error=0.01), "3x3": ValueRecord(value=-0.1, error=0.02)}
    potential = {"1x1": ValueRecord(value=0.5, error=0.01)}
    left, right = loops_figure(LoopResult(count=5, loops={}, creutz=creutz, potential=potential)).axes
    low, high = right.get_ylim()
    assert low <= -0.21
    assert high >= -0.08
    assert left.get_ylim()[0] == 0


def test_the_legend_of_a_flow_that_stays_low_is_not_on_its_curve() -> None:
    t = [0.1 * k for k in range(11)]
    value = [min(0.04, 0.12 * x) for x in t]
    flow = FlowResult(count=5, t2_energy=Series(x=t, value=value, error=[1e-3] * 11))
    figure = flow_figure(flow)
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    box = axes.get_legend().get_window_extent()
    points = axes.transData.transform(list(zip(t, value, strict=True)))
    assert not any(box.contains(*point) for point in points)
