//! Divides the connections to a service among the addresses of its name.

use std::net::SocketAddr;

use rpcgauge_lab::live as lab;
use rpcgauge_study::settings::{LbStrategy, LiveCall, Target};
use rpcgauge_study::url::Address;

use crate::exit::Failure;
use crate::inputs::Resolved;

/// Looks up the names of services whose connections are divided among all addresses of a name. There are at least as
/// many connections as addresses.
///
/// # Errors
/// A name has no address, or the study sets fewer connections.
pub(crate) fn look_up(study: &mut Resolved) -> Result<(), Failure> {
    // One look-up for all variants, since a name server may return other addresses the next time.
    let mut known: Vec<(Address, Vec<SocketAddr>)> = Vec::new();
    for variant in &mut study.plan.variants {
        let Target::Live(live) = &mut variant.settings.target else {
            continue;
        };
        if live.service.lb_strategy == LbStrategy::PickFirst {
            continue;
        }
        let name = variant.repeats.as_ref().unwrap_or(&variant.name);
        let mut inputs = study.services.get(name).into_iter().flatten();
        let sets_connections = inputs.any(|inputs| inputs.sets_connections);
        let address = live.service.url.address.clone();
        let addresses = match known.iter().find(|(of, _)| *of == address) {
            Some((_, addresses)) => addresses.clone(),
            None => lab::look_up(&live.service).map_err(Failure::input)?,
        };
        divide(live, sets_connections, addresses.clone())?;
        known.push((address, addresses));
    }
    Ok(())
}

/// Divides the connections among the addresses.
fn divide(
    live: &mut LiveCall,
    sets_connections: bool,
    addresses: Vec<SocketAddr>,
) -> Result<(), Failure> {
    let options = &mut live.options;
    let least = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let too_few = |key: &str, count: u32| {
        Err(Failure::input(format!(
            "{}: {key} = {count} is too few for the {least} addresses of the name; give at least {least}",
            live.service.url
        )))
    };
    // In a closed loop, connections share the calls in flight.
    if let Some(count) = options.schedule.in_flight()
        && count < least
    {
        return too_few("in-flight", count);
    }
    if sets_connections && options.connections < least {
        return too_few("connections", options.connections);
    }
    options.connections = options.connections.max(least);
    live.service.addresses = addresses;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of one call in flight to a service whose name has two addresses.
    fn divided(base: &str) -> Result<(u32, Vec<SocketAddr>), Failure> {
        let text = format!(
            "# Which?\n[service]\ntarget = \"grpc://localhost:1/a.B/C\"\nlb-strategy = \"round-robin\"\n\
             [base]\n{base}\n"
        );
        let mut resolved = crate::services::tests::resolved(&text);
        let inputs = &resolved.services["base"][0];
        let sets_connections = inputs.sets_connections;
        let Target::Live(live) = &mut resolved.plan.variants[0].settings.target else {
            panic!("a live service")
        };
        let addresses = ["127.0.0.1:1", "[::1]:1"].map(|address| address.parse().unwrap());
        divide(live, sets_connections, addresses.to_vec())?;
        Ok((live.options.connections, live.service.addresses.clone()))
    }

    #[test]
    fn there_are_as_many_connections_as_addresses_or_more() {
        let connections = |base| divided(base).ok().map(|(connections, _)| connections);
        assert_eq!(connections("in-flight = 3"), Some(2));
        assert_eq!(connections("rate = 9\nconnections = 5"), Some(5));
        assert_eq!(
            connections("in-flight = 2\nconnection = \"per-call\""),
            Some(2)
        );
        let refused = |base| divided(base).err().map(|failure| failure.line().to_owned());
        insta::assert_snapshot!(refused("").unwrap(), @"grpc://localhost:1/a.B/C: in-flight = 1 is too few for the 2 addresses of the name; give at least 2");
        insta::assert_snapshot!(refused("rate = 9\nconnections = 1").unwrap(), @"grpc://localhost:1/a.B/C: connections = 1 is too few for the 2 addresses of the name; give at least 2");
        insta::assert_snapshot!(refused("connection = \"per-call\"").unwrap(), @"grpc://localhost:1/a.B/C: in-flight = 1 is too few for the 2 addresses of the name; give at least 2");
    }
}
