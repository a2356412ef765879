//! `doctor`.

use crate::common::{Place, json};

#[test]
fn the_doctor_tells_what_it_found() {
    let place = Place::new();
    let found = json(&place.run(&["doctor", "--no-noise", "--json"]).well());
    assert!(
        found["environment"]["cores"]
            .as_u64()
            .is_some_and(|cores| cores > 0),
        "{found}"
    );
    let text = place.run(&["doctor"]).well();
    assert!(text.contains("core"), "{text}");
    assert!(place.names().is_empty());
}
