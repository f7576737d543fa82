import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../toolchain/go-build.ts';
import { type ListeningServer, type ServerPlace, startListening } from './listening-server.ts';

/** Options of an Alertmanager. */
export interface AlertmanagerOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** The node of a cluster, for its pods; default: this machine's loopback. */
  readonly on?: ServerPlace;
  readonly log?: Log;
}

/** A real Alertmanager, which tells nobody of its alerts. */
export interface AlertmanagerServer extends ListeningServer {}

/** Starts the one of the package prometheus-alertmanager. */
export const startAlertmanager = ({ port, on, log }: AlertmanagerOptions = {}): Promise<AlertmanagerServer> =>
  startListening({
    name: 'prometheus-alertmanager',
    port,
    on,
    log,
    async args({ dir, address }) {
      const config = join(dir, 'alertmanager.yml');
      await writeFile(config, JSON.stringify({ route: { receiver: 'nobody', group_wait: '1s' }, receivers: [{ name: 'nobody' }] }));
      // No gossip: it is alone.
      return [
        `--config.file=${config}`,
        `--storage.path=${join(dir, 'data')}`,
        `--web.listen-address=${address}`,
        '--cluster.listen-address=',
      ];
    },
  });
