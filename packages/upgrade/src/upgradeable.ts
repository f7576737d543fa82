import type { ClusterVersion } from '@flotilla/api/config';
import { currentVersion } from './cluster-version.ts';
import { parseVersion } from './versions.ts';

/** Explains why the cluster's operators refuse another minor version (spec/muo 5.3, step 3); undefined when they allow it. */
export function upgradeObstacle(clusterVersion: ClusterVersion, version: string, upgradeAt: string): string | undefined {
  const blocking = clusterVersion.status?.conditions?.find(({ type, status }) => type === 'Upgradeable' && status === 'False');
  if (!blocking) return undefined;
  const current = parseVersion(currentVersion(clusterVersion) ?? '');
  const desired = parseVersion(version);
  if (desired.major < current.major || desired.minor <= current.minor) return undefined;
  const { reason, message } = blocking;
  return `cluster upgrade to version ${version} on ${unixDate(upgradeAt)} has been cancelled: ${reason}: ${message}`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a date as `date -u` does: `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(text: string): string {
  const date = new Date(text);
  const time = date.toISOString().slice(11, 19);
  return `${DAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)} ${time} UTC ${date.getUTCFullYear()}`;
}
