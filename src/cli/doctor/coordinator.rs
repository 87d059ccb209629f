//! The farm's coordinator, and the port it listens on.

use super::super::context::Context;
use super::Check;
use crate::client::discover::{self, DiscoverError};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

const AREA: &str = "coordinator";

pub(super) async fn check(context: &Context) -> Vec<Check> {
    let wanted = context.wanted(context.settings.farm.value.clone());
    let found = match discover::find(&wanted).await {
        Ok(client) => client.status().await.map_err(DiscoverError::from).map(|status| {
            let text = format!("{} answers, version {}", client.url(), status.version);
            let check = Check::ok(AREA, "answers", text);
            if status.version == env!("CARGO_PKG_VERSION") {
                check
            } else {
                check.warn("install one version everywhere")
            }
        }),
        Err(error) => Err(error),
    };
    match found {
        Ok(check) => vec![check],
        Err(DiscoverError::NotServed { .. }) => {
            let check = Check::ok(AREA, "answers", "none serves this farm now");
            vec![check, port(context.settings.listen.value)]
        }
        Err(DiscoverError::Stale { url, why, .. }) => {
            let check = Check::ok(AREA, "answers", format!("{url} does not answer ({why})"))
                .warn("it ended without a goodbye: start it again with 'sawah serve'");
            vec![check, port(context.settings.listen.value)]
        }
        Err(error) => {
            vec![Check::ok(AREA, "answers", "no").fail(error.to_string())]
        }
    }
}

/// Whether a coordinator could listen there.
fn port(listen: SocketAddr) -> Check {
    let check = |found: &str| Check::ok(AREA, "port", format!("{listen} {found}"));
    match TcpListener::bind(listen) {
        Ok(_) => check("is free"),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            check("is used by another program").warn("choose another with --listen or 'listen'")
        }
        Err(error) => check("cannot be used").fail(format!("{error}: correct 'listen'")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_used_port_is_noticed() {
        let holder = TcpListener::bind("127.0.0.1:0").expect("free port");
        let address = holder.local_addr().expect("address");
        assert_eq!(port(address).verdict, Verdict::Warn);
        drop(holder);
        assert_eq!(port(address).verdict, Verdict::Ok);
    }
}
