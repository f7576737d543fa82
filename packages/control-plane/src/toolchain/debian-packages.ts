import { existsSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { errorMessage } from '@flotilla/api';
import { PackagesMissingError } from '../errors.ts';
import { findProgram, runCommand } from '../processes/command.ts';
import type { Log } from './go-build.ts';

/** Debian packages this project's tests and demo use → a program by which each is recognised. */
const PACKAGES = {
  containerd: 'containerd',
  runc: 'runc',
  'containernetworking-plugins': '/usr/lib/cni/bridge',
  iproute2: 'ip',
  iptables: 'iptables',
  'util-linux': 'nsenter',
  openssl: 'openssl',
  'redis-server': 'redis-server',
  prometheus: 'prometheus',
  'prometheus-alertmanager': 'prometheus-alertmanager',
  'chromium-headless-shell': 'chromium-headless-shell',
  conmon: 'conmon',
  crun: 'crun',
  gcc: 'cc',
  'libc6-dev': '/usr/include/stdio.h',
} as const;

/** A package that can be asked for. */
export type DebianPackage = keyof typeof PACKAGES;

const EVERY_NODE: readonly DebianPackage[] = ['containernetworking-plugins', 'iproute2', 'iptables', 'util-linux', 'openssl'];

/** Packages that a cluster's node needs, by its runtime. */
export const NODE_PACKAGES = {
  containerd: [...EVERY_NODE, 'containerd', 'runc'],
  // Its client is Debian's.
  'containerd-2': [...EVERY_NODE, 'containerd', 'runc'],
  crio: [...EVERY_NODE, 'conmon', 'crun'],
} as const satisfies Readonly<Record<string, readonly DebianPackage[]>>;

/** A container runtime that a node can have. */
export type RuntimeName = keyof typeof NODE_PACKAGES;

/** A cluster's monitoring. */
export const MONITORING_PACKAGES: readonly DebianPackage[] = ['prometheus', 'prometheus-alertmanager'];

/** The browser that looks at pages. */
export const BROWSER_PACKAGE = 'chromium-headless-shell' satisfies DebianPackage;

/** Packages that building the programs needs besides Go. */
export const BUILD_PACKAGES: readonly DebianPackage[] = ['gcc', 'libc6-dev'];

/** Programs that are not there, of the packages asked for. */
export async function missingPrograms(packages: readonly DebianPackage[]): Promise<string[]> {
  return (await missingPackages(packages)).map((name) => PACKAGES[name]);
}

async function missingPackages(packages: readonly DebianPackage[]): Promise<DebianPackage[]> {
  const present = await Promise.all(
    packages.map(async (name) => {
      const program = PACKAGES[name];
      return program.startsWith('/') ? existsSync(program) : (await findProgram(program)) !== undefined;
    }),
  );
  return packages.filter((_, i) => !present[i]);
}

/**
 * Makes sure that Debian packages are installed, as root with apt-get; no service of theirs is started. `log` gets a line
 * before and after. Throws PackagesMissingError that says what to install when that does not work.
 */
export async function ensureDebianPackages(packages: readonly DebianPackage[], log: Log): Promise<void> {
  const missing = await missingPackages(packages);
  if (missing.length === 0) return;
  const byHand = `install them by hand: apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || !(await findProgram('apt-get'))) {
    throw new PackagesMissingError(`${missing.join(', ')} missing, and only root on Debian or Ubuntu can install them here; ${byHand}`);
  }
  log(`Installing Debian packages: ${missing.join(', ')} (up to 1 minute)`);
  const start = performance.now();
  try {
    await installQuietly(missing);
  } catch (cause) {
    throw new PackagesMissingError(`installing Debian packages failed: ${errorMessage(cause)}; ${byHand}`, { cause });
  }
  const still = await missingPackages(packages);
  if (still.length > 0)
    throw new PackagesMissingError(
      `installed, but still no ${still.map((name) => PACKAGES[name]).join(', ')} on the search path; ${byHand}`,
    );
  log(`Installed Debian packages in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

async function installQuietly(packages: readonly DebianPackage[]): Promise<void> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await using noServices = await forbidServices();
  const options = ['-q', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  await runCommand('apt-get', [...options, 'update'], { env, timeoutMs: 300_000 });
  await runCommand('apt-get', [...options, 'install', '-y', '--no-install-recommends', ...packages], {
    env: { ...env, ...noServices.env },
    timeoutMs: 600_000,
  });
}

const POLICY = '/usr/sbin/policy-rc.d';

/** While it is held, package scripts start no services: Debian asks this file, and an answer of 101 means no. */
async function forbidServices(): Promise<AsyncDisposable & { env: Record<string, string> }> {
  // A policy that is there already is somebody's wish: it stays, and RUNLEVEL=1 does the same for most scripts.
  const ours = !existsSync(POLICY);
  if (ours) {
    await writeFile(POLICY, '#!/bin/sh\nexit 101\n');
    await chmod(POLICY, 0o755);
  }
  return {
    env: { RUNLEVEL: '1' },
    async [Symbol.asyncDispose]() {
      if (ours) await rm(POLICY, { force: true });
    },
  };
}
