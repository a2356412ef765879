use super::*;
use crate::fixture::quickstart::quickstart;
use crate::fixture::findings;

#[test]
fn x() {
    let f = findings(&quickstart().build());
    println!("{}", render(&f, Style { color: true, width: 150 }));
    println!("{}", render(&f, Style { color: false, width: 80 }));
}
