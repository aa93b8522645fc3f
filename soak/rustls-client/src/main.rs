// Asks an address for its statistics over TLS, trusting one certificate: rustls-client HOST PORT CERTIFICATE PATH. Prints the first line of the answer.
use rustls::pki_types::{pem::PemObject, CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, certificate, path] = &words[..] else {
        return Err("HOST PORT CERTIFICATE PATH".into());
    };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.clone())?;
    let connection = ClientConnection::new(Arc::new(config), name)?;
    let socket = TcpStream::connect(("127.0.0.1", port.parse()?))?;
    let mut stream = StreamOwned::new(connection, socket);
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    print!("{line}");
    Ok(())
}
