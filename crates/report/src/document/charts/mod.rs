//! The charts of a group of variants: where the time goes, latency by percentile, timelines, bytes and CPU.

mod bars;
mod by_rate;
mod curves;
mod heat_map;
mod load;
mod map;
mod sizes;
mod steps;
mod timeline;

pub(super) use by_rate::{of_ramp, of_ramps, of_search};
pub(super) use map::chart as of_map;

use super::chart::{Chart, Weight};
use super::figures;
use super::groups::{self, Group, measured};
use super::{Block, Section, Shown};
use crate::findings::{Findings, VariantFindings};
use crate::words;

/// Charts and tables of these variants, placement by placement.
pub(super) fn of_group(findings: &Findings, variants: &[&VariantFindings]) -> Vec<Block> {
    let placements = figures::placements(findings, variants);
    let several = placements.len() > 1;
    let mut blocks = Vec::new();
    for (index, placement) in placements.into_iter().enumerate() {
        let groups = groups::groups(findings, variants.iter().copied(), placement);
        if measured(&groups).next().is_some() {
            if several {
                blocks.push(Block::Heading(words::capital(words::on(placement))));
            }
            let own = |weight| if index == 0 { weight } else { Weight::Further };
            let by_size = sizes::chart(findings, variants, placement, own(Weight::Bars));
            blocks.extend(by_size.map(Block::Chart));
            blocks.extend(bars::stages(&groups, own(Weight::Bars)).map(Block::Chart));
            blocks.extend(figures::stages(&groups).map(Block::Table));
            blocks.extend(plots(&groups, own).map(Block::Chart));
        }
        blocks.push(Block::Table(figures::table(&groups)));
    }
    blocks.push(figures::how(variants));
    blocks
}

/// The charts of one service's load, in their own section.
pub(super) fn of_load(findings: &Findings) -> Option<Section> {
    let placement = *findings.study.placements.first()?;
    let groups = groups::groups(findings, &findings.variants, placement);
    let blocks = plots(&groups, |weight| weight).map(Block::Chart);
    Some(Section::new("charts", "Charts", Shown::Always, blocks))
}

fn plots(groups: &[Group<'_>], weight: impl Fn(Weight) -> Weight) -> impl Iterator<Item = Chart> {
    let all = [
        curves::chart(groups, weight(Weight::Curves)),
        timeline::chart(groups, weight(Weight::Timelines)),
        bars::bytes(groups, weight(Weight::Bars)),
        bars::cpu(groups, weight(Weight::Bars)),
    ];
    all.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Plot, Size};
    use super::*;

    #[test]
    fn a_load_has_its_timeline_over_seconds_and_as_wide_as_the_page() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let blocks = of_load(&findings).expect("it was measured").blocks;
        let plots = blocks.iter().flat_map(|block| match block {
            Block::Chart(chart) => &chart.plots[..],
            _ => &[],
        });
        let plots: Vec<&Plot> = plots.filter(|plot| plot.size == Size::Whole).collect();
        let titles = plots.iter().map(|plot| &*plot.title);
        assert_eq!(titles.collect::<Vec<_>>(), ["Latency", "Calls by latency"]);
        for plot in plots {
            assert!(plot.x.iter().any(|tick| tick.label.ends_with(" ms")));
        }
    }
}
