import type { MemoryWorld } from '@flotilla/upgrade-operator/testing';
import { SimulatedExchange, type Weather } from './exchange.ts';
import type { SimulatedProcess } from './process.ts';

type Ports = MemoryWorld['ports'];

/** Longest time that a service may take for an answer. */
const TIMEOUT_MS = 10_000;

/** Carries a call to a service of a spoke through the weather: it is late, does not arrive, or takes effect and is not answered. */
export async function carried<T>(
  act: () => Promise<T>,
  { process, weather, path, signal }: { process: SimulatedProcess; weather: Weather; path: string; signal?: AbortSignal | undefined },
): Promise<T> {
  const answers: T[] = [];
  const service = {
    async send() {
      answers.push(await act());
      return '';
    },
    open: () => Promise.reject(new RangeError('no service has streams')),
    close: async () => undefined,
  };
  const call = { method: 'GET', path: `/services/${path}`, timeoutMs: TIMEOUT_MS, idempotent: true, ...(signal && { signal }) } as const;
  await new SimulatedExchange(service, process, weather).send(call);
  const [answer] = answers.slice(-1);
  return answer as T;
}

/** The ports of an upgrade operator, with the way to the services behind them. */
export function farPorts(ports: Ports, process: SimulatedProcess, weather: Weather): Ports {
  const far = <T extends object>(name: string, service: T): T =>
    new Proxy(service, {
      get(target, key) {
        const call: unknown = Reflect.get(target, key);
        if (typeof call !== 'function') return call;
        return (...args: unknown[]) => {
          const signal = args.find((arg) => arg instanceof AbortSignal);
          return carried(async () => call.apply(target, args), { process, weather, path: `${name}/${String(key)}`, signal });
        };
      },
    });
  const provider = far('provider', ports.provider);
  return {
    ...ports,
    notifier: far('notifier', ports.notifier),
    silences: far('silences', ports.silences),
    health: far('health', ports.health),
    alerts: far('alerts', ports.alerts),
    nodes: far('nodes', ports.nodes),
    releases: far('releases', ports.releases),
    provider: { ...ports.provider, refresh: (signal) => provider.refresh(signal) },
  };
}
