import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { AppName } from './apps.ts';

const Manifest = z.looseObject({ nodeFlags: z.array(z.string().startsWith('--')).default([]) });

/** Flags that Node runs a program of ours with, however it is started: `nodeFlags` in the package.json of its folder. */
export const nodeFlagsOf = (app: AppName): readonly string[] =>
  Manifest.parse(JSON.parse(readFileSync(new URL(`../../../apps/${app}/package.json`, import.meta.url), 'utf8'))).nodeFlags;
