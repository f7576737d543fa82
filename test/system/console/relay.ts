import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay whose connections can be cut. */
interface Relay extends AsyncDisposable {
  readonly port: number;
  /** Breaks every connection, in the middle of whatever it carries; returns how many there were. */
  cut(): number;
  /** From now on the connections there are carry nothing, and nobody is told; new ones do. Returns how many fell silent. */
  silence(): number;
  /** The connections there are, and each new one, carry nothing, until it is told otherwise: those that were made meanwhile stay so. */
  stall(isStalling: boolean): void;
  /** Breaks every connection and each new one, until it is told otherwise. */
  refuse(isRefusing: boolean): void;
}

/** Relays a free port of this machine to another. */
export async function startRelay(targetPort: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.pipe(other);
  };
  let [refuses, stalls] = [false, false];
  const server = createServer((near) => {
    if (refuses) return void near.resetAndDestroy();
    if (stalls) {
      sockets.add(near);
      near.on('error', () => near.destroy()).on('close', () => sockets.delete(near));
      return;
    }
    const far = connect(targetPort, '127.0.0.1');
    keep(near, far);
    keep(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): number => {
    const count = sockets.size / 2;
    for (const socket of sockets) socket.resetAndDestroy();
    return count;
  };
  const silence = (): number => {
    for (const socket of sockets) socket.unpipe().pause();
    return sockets.size / 2;
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    silence,
    stall(isStalling) {
      stalls = isStalling;
      if (isStalling) silence();
    },
    refuse(isRefusing) {
      refuses = isRefusing;
      if (isRefusing) cut();
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
