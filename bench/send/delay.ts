// A process that stands for a long way: it takes connections for another port and passes on every byte half a round
// trip later, in both directions. It reads no protocol, so it costs little at any rate.
//
//   node delay.ts PORT ROUND_TRIP_MS      posts the port that it listens on to its parent
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const [port, roundTripMs] = process.argv.slice(2).map(Number) as [number, number];

const server = createServer({ noDelay: true }, (client) => {
  const service = connect({ port, host: '127.0.0.1', noDelay: true });
  passOn(client, service);
  passOn(service, client);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());

function passOn(from: Socket, to: Socket): void {
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
}

/** Timers of one length run in the order in which they were set: nothing overtakes. */
function later(step: () => void): void {
  setTimeout(step, roundTripMs / 2);
}
