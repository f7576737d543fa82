import { type ConnectionOptions, FollowingConnections } from '@flotilla/http';

/** A service of updates and monitoring, and connections to it. */
export interface ServiceWorld<S> extends AsyncDisposable {
  readonly service: S;
  readonly connections: FollowingConnections;
}

/** Takes a started service over, to stop it. `reach`: what the connections go through, now; default nothing. */
export function serviceWorld<S extends { stop(): Promise<void> }>(
  service: S,
  reach: () => ConnectionOptions = () => ({}),
): ServiceWorld<S> {
  const connections = new FollowingConnections(reach);
  const end = async (): Promise<void> => {
    await connections[Symbol.asyncDispose]();
    await service.stop();
  };
  return { service, connections, [Symbol.asyncDispose]: end };
}
