//! Where a run can be written, and what happens if it cannot.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;

use super::*;

#[test]
fn what_is_there_is_not_overwritten() {
    let scene = Scene::new();
    assert_snapshot!(scene.plain(create(&scene.run, &scene.plan).unwrap_err()), @"run already exists: give --out another directory, or --resume it");
    let file = scene.folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert_snapshot!(scene.plain(create(&file, &scene.plan).unwrap_err()), @"file already exists: give --out another directory, or --resume it");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let empty = scene.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    create(&empty, &scene.plan).unwrap();
    assert_eq!(listing(scene.folder.path()), ["empty", "file", "run"]);
}

#[test]
fn a_place_that_cannot_be_written_is_left_as_it_was() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("file"), "").unwrap();
    let below_a_file = scene.folder.path().join("file/run");
    assert_snapshot!(scene.plain(create(&below_a_file, &scene.plan).unwrap_err()), @"cannot create the run directory file/run: not a directory; give --out a directory that can be written");
    // The superuser can write anywhere, except where the kernel itself refuses.
    let locked = scene.folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let place = if File::create(locked.join("probe")).is_ok() {
        PathBuf::from("/proc/self/run")
    } else {
        locked.join("new/run")
    };
    let error = create(&place, &scene.plan).unwrap_err();
    assert!(matches!(error, RunError::Create(..)), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("give --out a directory that can be written"),
        "{error}"
    );
    assert!(!locked.join("new").exists());
}

#[test]
fn a_full_disk_is_told_and_costs_nothing_written_before() {
    let scene = Scene::new();
    let mut writer = RunWriter::resume::<Run>(&scene.run).unwrap().writer;
    // The device that is always full.
    writer.replace_file(OpenOptions::new().append(true).open("/dev/full").unwrap());
    let error = writer.append(&failed(&scene.plan, 3)).unwrap_err();
    assert_snapshot!(scene.plain(error), @"cannot write run/trials.jsonl: no space left on device; everything written before is kept: make room, then continue with --resume");
    assert_eq!(Run::read(&scene.run).unwrap().trials.len(), 3);
}

#[test]
fn the_usual_place_has_the_time_and_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let at = UNIX_EPOCH + Duration::from_secs(1_795_170_900);
    let first = default_directory(folder.path(), "quickstart", at);
    assert_eq!(first, folder.path().join("20261120T103500Z-quickstart"));
    fs::create_dir(&first).unwrap();
    let second = default_directory(folder.path(), "quickstart", at);
    assert_eq!(second, folder.path().join("20261120T103500Z-quickstart-2"));
}
