import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { World } from './connection/world.ts';
import { aheadMs } from './words/server-clock.ts';

/** The world that all views show. */
export const WorldContext = createContext<World | undefined>(undefined);

/** The world, inside a view. */
export function useWorld(): World {
  const world = useContext(WorldContext);
  if (!world) throw new TypeError('a view is drawn outside the console');
  return world;
}

/** When rows were read last, by the server's clock in milliseconds since the epoch. */
export function useReadAt(): number | undefined {
  const { heardAt } = useWorld();
  return heardAt.value === undefined ? undefined : heardAt.value - aheadMs.value;
}
