//! When a call is sent and what is timed: schedules, connections, the event loop, the recorder.
