//! Pairwise testing: chooses a subset of the ways to try that still covers every pair of values occurring
//! together. Nearly all failures depend on one or two settings (Kuhn, Wallace and Gallo 2004, "Software fault
//! interactions and implications for software testing").

use std::collections::BTreeSet;

/// Two values, each with its position in the item.
type PairOfValues = [(usize, String); 2];

/// A subset of the items, in their order, that contains the first item and covers every pair of values that
/// occurs in any item.
pub(super) fn all_pairs<T>(items: Vec<T>, values: impl Fn(&T) -> Vec<String>) -> Vec<T> {
    let pairs: Vec<_> = items.iter().map(|item| pairs(&values(item))).collect();
    let mut open: BTreeSet<&PairOfValues> = pairs.iter().flatten().collect();
    let mut chosen = BTreeSet::new();
    while !open.is_empty() {
        let gain = |place: &usize| {
            pairs[*place]
                .iter()
                .filter(|pair| open.contains(pair))
                .count()
        };
        // The first of equally good items: `max_by_key` returns the last maximum, here of the reversed list.
        let Some(best) = (0..pairs.len()).rev().max_by_key(gain) else {
            break;
        };
        chosen.insert(best);
        for pair in &pairs[best] {
            open.remove(pair);
        }
    }
    let kept = items.into_iter().enumerate();
    kept.filter_map(|(place, item)| chosen.contains(&place).then_some(item))
        .collect()
}

fn pairs(values: &[String]) -> Vec<PairOfValues> {
    let placed: Vec<_> = values.iter().cloned().enumerate().collect();
    let mut pairs = Vec::new();
    for (place, first) in placed.iter().enumerate() {
        let later = placed[place + 1..].iter();
        pairs.extend(later.map(|second| [first.clone(), second.clone()]));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(sizes: &[usize]) -> Vec<Vec<String>> {
        sizes.iter().fold(vec![Vec::new()], |items, size| {
            let longer = |item: Vec<String>| {
                (0..*size).map(move |value| [&item[..], &[value.to_string()]].concat())
            };
            items.into_iter().flat_map(longer).collect()
        })
    }

    fn covered(items: &[Vec<String>]) -> BTreeSet<PairOfValues> {
        items.iter().flat_map(|item| pairs(item)).collect()
    }

    #[test]
    fn every_two_values_stand_together_in_far_fewer_items() {
        let all = product(&[2, 2, 4, 2, 2, 7]);
        let chosen = all_pairs(all.clone(), Clone::clone);
        assert_eq!(covered(&chosen), covered(&all));
        assert_eq!(chosen[0], all[0]);
        // The two longest lists alone require 4 × 7 items.
        assert!(
            (28..40).contains(&chosen.len()),
            "{} of {}",
            chosen.len(),
            all.len()
        );
    }

    #[test]
    fn what_never_stands_together_is_not_asked_for() {
        let words = |item: &str| item.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let all: Vec<_> = ["grpc 2 tcp", "rest 1.1 tcp", "rest 2 tcp", "rest 1.1 unix"]
            .map(words)
            .into();
        assert_eq!(all_pairs(all.clone(), Clone::clone), all);
        assert!(all_pairs(Vec::<Vec<String>>::new(), Clone::clone).is_empty());
    }
}
