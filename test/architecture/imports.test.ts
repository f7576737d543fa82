import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findCycle, importsOf, packageOf, reachable, undocumentedExports } from './source-imports.ts';

const root = resolve(import.meta.dirname, '../..');
/** Whoever may use what tests and the demo alone are for. */
const WORKBENCHES = ['demo', 'tools', 'test'];
/** Libraries, and what of ours each may import. */
const LIBRARIES: Record<string, readonly string[]> = {
  agent: ['api', 'pace', 'runtime'],
  api: [],
  'control-plane': ['agent', 'api', 'pace', 'runtime'],
  pace: [],
  http: ['api', 'pace'],
  runtime: ['api', 'http', 'pace'],
  queues: ['api', 'pace', 'runtime'],
  registry: ['api', 'http', 'pace'],
  release: ['api'],
  rollout: ['api', 'pace', 'release'],
  upgrade: ['api'],
};

/** Entries of apps that tests of the whole, and nobody else, may run in their own process. */
const EMBEDDED = ['@flotilla/hub/program'];

/** What tests of an app or a package share lies beside its source. */
const TEST_SUPPORT = /^(packages|apps)\/[^/]+\/testing\//;

interface Source {
  /** Path from the root, with slashes. */
  readonly file: string;
  /** Folder that owns it: `packages/api`, `apps/hub`, `tools`. */
  readonly home: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const Manifest = z.looseObject({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
});

const sources = await readSources();
const isTest = ({ file }: Source) => /\.test\.ts$/.test(file) || file.startsWith('test/') || TEST_SUPPORT.test(file);
const inspect = (broken: (source: Source, to: string) => boolean) =>
  sources.flatMap((source) => source.imports.filter((to) => broken(source, to)).map((to) => `${source.file} → ${to}`));

async function readSources(): Promise<Source[]> {
  const found: Source[] = [];
  for (const top of ['packages', 'apps', 'demo', 'tools', 'test']) {
    const entries = await readdir(join(root, top), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || !entry.name.endsWith('.ts') || path.includes(`${sep}node_modules${sep}`)) continue;
      const file = relative(root, path).replaceAll(sep, '/');
      const text = await readFile(path, 'utf8');
      const home = file
        .split('/')
        .slice(0, top === 'packages' || top === 'apps' ? 2 : 1)
        .join('/');
      found.push({ file, home, text, imports: importsOf(text) });
    }
  }
  return found;
}

/** May this source import that package of ours? */
function mayImport({ home }: Source, dependency: string): boolean {
  const [kind, owner = ''] = home.split('/');
  if (owner === dependency && kind === 'packages') return true;
  if (!(dependency in LIBRARIES)) return false;
  if (kind === 'packages') return LIBRARIES[owner]?.includes(dependency) ?? false;
  if (WORKBENCHES.includes(home)) return true;
  if (home === 'apps/console') return dependency === 'api';
  return dependency !== 'control-plane';
}

/** Folders of a package or an app that import one another. What joins others, directly in `src` or an index, counts by file. */
function foldersInCircles(): string[] {
  const files = new Set(sources.map(({ file }) => file));
  const joinsOthers = /^((packages|apps)\/[^/]+\/src\/[^/]+|.*\/index\.ts)$/;
  const roomOf = (file: string) => (joinsOthers.test(file) ? file : dirname(file));
  const graph = new Map<string, Set<string>>();
  for (const source of sources.filter((each) => !isTest(each))) {
    const room = roomOf(source.file);
    const targets = source.imports.filter((to) => to.startsWith('.')).map((to) => join(dirname(source.file), to).replaceAll(sep, '/'));
    const rooms = targets.filter((to) => files.has(to)).map(roomOf);
    graph.set(room, new Set([...(graph.get(room) ?? []), ...rooms.filter((other) => other !== room)]));
  }
  return [...graph.keys()].filter((room) => reachable(graph, room).has(room)).toSorted();
}

describe('the sources', () => {
  it('are found', () => {
    expect(sources.length).toBeGreaterThan(30);
    expect(sources.flatMap(({ imports }) => imports)).toContain('@flotilla/api');
  });

  it('keep the dependency rule', () => {
    const broken = inspect((source, to) => {
      const dependency = /^@flotilla\/([^/]+)/.exec(to)?.[1];
      if (dependency === undefined || mayImport(source, dependency)) return false;
      return !(isTest(source) && dependency === 'control-plane') && !(source.home === 'test' && EMBEDDED.includes(to));
    });
    expect(broken).toEqual([]);
  });

  it('leave their package through its public door alone', () => {
    const broken = inspect(({ file, home }, to) => {
      if (!to.startsWith('.')) return false;
      const target = relative(root, resolve(root, dirname(file), to)).replaceAll(sep, '/');
      // What demo and tests share is in tools; everything else goes through a package's exports.
      const isShared = WORKBENCHES.includes(home) && target.startsWith('tools/');
      return !target.startsWith(`${home}/`) && !isShared;
    });
    expect(broken).toEqual([]);
  });

  it('import what their package declares', async () => {
    const declared = new Map<string, Set<string>>();
    const top = Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
    for (const home of new Set(sources.map((source) => source.home))) {
      const text = home === 'test' ? '{"name":"test"}' : await readFile(join(root, home, 'package.json'), 'utf8');
      const { name, dependencies, devDependencies, optionalDependencies } = Manifest.parse(JSON.parse(text));
      declared.set(home, new Set([name, ...[dependencies, devDependencies, optionalDependencies].flatMap(Object.keys)]));
    }
    const broken = inspect((source, to) => {
      const dependency = packageOf(to);
      if (dependency === undefined || declared.get(source.home)?.has(dependency)) return false;
      // Tests run with the root's tools, and those of no package use what the workspaces have.
      if (!isTest(source)) return true;
      return !(dependency in top.devDependencies) && ![...declared.values()].some((names) => names.has(dependency));
    });
    expect(broken).toEqual([]);
  });

  it('have no import cycles', () => {
    const graph = new Map<string, string[]>();
    for (const { file, imports } of sources) {
      const local = imports.filter((to) => to.startsWith('.')).map((to) => relative(root, resolve(root, dirname(file), to)));
      graph.set(
        file,
        local.map((path) => path.replaceAll(sep, '/')),
      );
    }
    expect(findCycle(graph)).toEqual([]);
  });

  it('have no circles between folders', () => {
    expect(foldersInCircles()).toEqual([]);
  });

  it('read the environment in config.ts alone', () => {
    // What tests, demo and tools use has one place of its own; the reporter runs in vitest, before any of it.
    // Where its API server is, Kubernetes tells a pod in variables of fixed names.
    const places = ['packages/control-plane/src/environment.ts', 'tools/src/test-reporter.ts', 'packages/runtime/src/kubeconfig.ts'];
    const mayRead = ({ file, home }: Source) => home === 'test' || places.includes(file) || /^apps\/[^/]+\/src\/config\.ts$/.test(file);
    const broken = sources.filter((source) => /\bprocess\.env\b/.test(source.text) && !mayRead(source) && !isTest(source));
    expect(broken.map(({ file }) => file)).toEqual([]);
  });

  it('export by name', () => {
    const broken = sources.filter(({ file, text }) => /^export \* from/m.test(text) && file !== 'packages/api/src/index.ts');
    expect(broken.map(({ file }) => file)).toEqual([]);
  });

  it('say of every export what it is', () => {
    const written = sources.filter((source) => !/\.test\.ts$/.test(source.file));
    expect(written.flatMap(({ file, text }) => undocumentedExports(text).map((name) => `${file}: ${name}`))).toEqual([]);
  });

  it('have an index.ts only where a package is entered', () => {
    const indexes = sources.map(({ file }) => file).filter((file) => file.endsWith('/index.ts'));
    // The contract is entered by group, the workshop by room.
    expect(
      indexes.filter((file) => !/^packages\/([^/]+\/src|(api|control-plane)\/src\/[a-z]+|[^/]+\/testing)\/index\.ts$/.test(file)),
    ).toEqual([]);
  });
});
