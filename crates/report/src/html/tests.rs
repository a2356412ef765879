use super::*;
use crate::fixture::findings;
use crate::fixture::quickstart::quickstart;

#[test]
fn x() {
    let page = render(&findings(&quickstart().build())).unwrap();
    println!("{}", page.len());
}
