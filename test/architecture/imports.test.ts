import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isTestSource, resolveImport, specifiersOf } from '../../tools/src/source-graph.ts';
import { graph, root } from './repository.ts';
import { findCycle, foldersInCircles, packageOf, siblingsInCircles, undocumentedExports } from './source-imports.ts';

/** Whoever may use what tests and the demo alone are for. */
const WORKBENCHES = ['demo', 'tools', 'test'];
/** Libraries, and what of ours each may import. */
const LIBRARIES: Record<string, readonly string[]> = {
  agent: ['api', 'pace', 'release', 'runtime'],
  api: [],
  'control-plane': ['agent', 'api', 'pace', 'runtime'],
  pace: [],
  http: ['api', 'pace'],
  runtime: ['api', 'http', 'pace'],
  queues: ['api', 'http', 'pace', 'runtime'],
  registry: ['api', 'http', 'pace'],
  release: ['api'],
  rollout: ['api', 'pace', 'release'],
  software: ['api', 'pace', 'registry', 'release'],
  upgrade: ['api'],
};

/** Entries of apps that tests of the whole, and nobody else, may use in their own process. */
const EMBEDDED = [
  '@flotilla/cli/commands',
  '@flotilla/cli/testing',
  '@flotilla/hub/program',
  '@flotilla/upgrade-operator/testing',
  '@flotilla/version-operator/testing',
];

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

const sources = [...graph.modules]
  .filter(([file]) => file.includes('/'))
  .map(([file, module]): Source => ({ file, home: homeOf(file), text: module.text, imports: specifiersOf(module) }));
/** What control-plane imports is judged as that of any package. */
const isTest = ({ file, home }: Source) => isTestSource(file) && !(home === 'packages/control-plane' && !file.endsWith('.test.ts'));
const inspect = (broken: (source: Source, to: string) => boolean) =>
  sources.flatMap((source) => source.imports.filter((to) => broken(source, to)).map((to) => `${source.file} → ${to}`));

function homeOf(file: string): string {
  return file
    .split('/')
    .slice(0, /^(packages|apps)\//.test(file) ? 2 : 1)
    .join('/');
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

/** Every import of a product's file by another of the same repository. */
function arrows(): [string, string][] {
  const written = sources.filter((each) => !isTest(each));
  return written.flatMap(({ file, imports }) =>
    imports.flatMap((to): [string, string][] => {
      const target = to.startsWith('.') ? resolveImport(graph, file, to) : undefined;
      return target === undefined ? [] : [[file, target]];
    }),
  );
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
      // Demo and tests share two folders; everything else goes through a package's exports.
      const isShared =
        (WORKBENCHES.includes(home) && target.startsWith('tools/')) || (home === 'demo' && target.startsWith('test/support/'));
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
    expect(foldersInCircles(arrows())).toEqual([]);
  });

  it('point no arrow up: folders side by side, with all that is in them, form no circle', () => {
    expect(siblingsInCircles(arrows())).toEqual([]);
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
