use super::*;
use crate::fixture::quickstart::quickstart;
use crate::fixture::{Builder, Sample, Spec};

fn findings(sample: &Sample) -> Findings {
    Findings::new(&sample.plan, Some(&sample.environment), &sample.trials, &sample.floors)
        .expect("the sample's records fit its plan")
}

#[test]
fn x() {
    let f = findings(&quickstart().build());
    for c in &f.comparisons { println!("{}", c.sentence); }
    for c in &f.claims { println!("{}", c.sentence); }
    println!("{}", serde_json::to_string(&f).unwrap().len());
    let _ = (Builder::new("x"), Spec::new("y", 1.0));
}
