#!/usr/bin/env node
'use strict';
// Runs a TypeScript program of this repository from a clean clone: installs the locked npm packages when they are
// missing or older than the lock, then hands over to the pinned Node 24. Plain CommonJS: the Node that starts it may be 20.
const { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } = require('node:fs');
const { spawn, spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { homedir } = require('node:os');
const path = require('node:path');

const startedAt = Date.now() - process.uptime() * 1000;
const root = path.dirname(__dirname);
const starters = findStarters();
const stamp = path.join(root, 'node_modules', '.flotilla-lock');
const lock = createHash('sha256')
  .update(readFileSync(path.join(root, 'package-lock.json')))
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
  refuseLinkedPackages();
  process.stderr.write('Installing npm packages (about 20 s from an empty cache) ...\n');
  const sources = fetchSources();
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 2, 2] });
  if (npm.status !== 0) {
    sources?.kill();
    process.stderr.write('npm ci failed: check that the npm registry is reachable, then run the same command again.\n');
    process.exit(npm.status ?? 1);
  }
  writeFileSync(stamp, lock);
}

/** Downloads the Go sources of the demo's clusters beside the packages, where nothing is built yet; whoever builds them says what is wrong. */
function fetchSources() {
  const cache = process.env.FLOTILLA_CACHE ?? path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'flotilla');
  const isDemo = process.argv.includes('demo/src/main.ts') && !process.argv.includes('--help');
  if (!isDemo || process.env.KUBEBUILDER_ASSETS || existsSync(path.join(cache, 'tools'))) return undefined;
  const child = spawn('go', ['list', '-deps', 'tool'], {
    cwd: path.join(root, 'packages/control-plane/tools/kubernetes'),
    stdio: 'ignore',
    env: { ...process.env, PATH: `${process.env.PATH}${path.delimiter}/usr/local/go/bin` },
  });
  child.on('error', () => undefined);
  return child;
}

/** `npm ci` empties what node_modules links to, which belongs to somebody else. */
function refuseLinkedPackages() {
  const folder = path.join(root, 'node_modules');
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const target = existsSync(folder) ? realpathSync(folder) : 'a folder that is gone';
  process.stderr.write(`${folder} is a link to ${target}, whose packages are not those of package-lock.json; installing would empty it.\n`);
  process.stderr.write('Remove the link and run the same command again, or run `npm ci` where it points to.\n');
  process.exit(1);
}

/** Path of Node 24: the pinned package where there is one, else the running Node when it is new enough. */
function node24() {
  const pinned = path.join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  process.stderr.write(`No packaged Node 24 for ${process.platform}-${process.arch}: install Node 24 and run the same command again.\n`);
  process.exit(1);
}

/** Whoever started this, as text; beyond npm's shell npm itself, where the system tells (Linux). */
function findStarters() {
  const parent = process.ppid;
  try {
    const [, name, grandparent] = /\((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${parent}/stat`, 'utf8'));
    if (/^(ba|da)?sh$/.test(name)) return `${parent} ${grandparent}`;
  } catch {
    // Another system, or a parent that ends just now: its number changes then.
  }
  return String(parent);
}

/** Flags that the program's own package.json wants of Node. */
function flagsOf(program) {
  const [app] = /^apps\/[^/]+/.exec(program) ?? [];
  return app === undefined ? [] : (JSON.parse(readFileSync(path.join(root, app, 'package.json'), 'utf8')).nodeFlags ?? []);
}

// Leading flags are Node's own: bootstrap.cjs [--node-flag ...] PROGRAM [ARGUMENT ...]
const given = process.argv.slice(2);
const at = given.findIndex((argument) => !argument.startsWith('--'));
const [flags, program, args] = [given.slice(0, at), given[at], given.slice(at + 1)];
const node = node24();
const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...flagsOf(program), ...flags, path.join(root, program), ...args], {
  stdio: 'inherit',
  env: {
    // types are stripped and code is compiled once
    NODE_COMPILE_CACHE: path.join(root, 'node_modules', '.cache', 'node'),
    ...process.env,
    FLOTILLA_STARTED_AT: String(startedAt),
    PATH: `${path.dirname(node)}${path.delimiter}${path.join(root, 'node_modules', '.bin')}${path.delimiter}${process.env.PATH}`,
  },
});
// A Ctrl-C reaches the whole process group; a signal sent to this process alone is passed on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// npm passes a signal to its shell alone, which dies of it and tells nobody: without them there is nobody left to run for.
const watch = process.env.npm_lifecycle_event === undefined ? undefined : setInterval(endWithStarters, 500);
function endWithStarters() {
  if (findStarters() === starters) return;
  clearInterval(watch);
  child.kill('SIGTERM');
}
child.on('exit', (code, signal) => process.exit(code ?? 128 + (require('node:os').constants.signals[signal] ?? 1)));
