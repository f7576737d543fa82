import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The repository's root. */
export const root = resolve(import.meta.dirname, '../../..');

/** A module of an app by its path: nobody imports an app. The caller says what the module exports. */
export const loadApp = async <M>(app: string, file: string): Promise<M> =>
  (await import(pathToFileURL(join(root, 'apps', app, 'src', file)).href)) as M;
