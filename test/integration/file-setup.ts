import { useServerPool } from '@flotilla/control-plane/servers';
import { inject } from 'vitest';
import { useBundles } from '../support/program-files.ts';

useBundles(inject('programs'));
useServerPool(inject('apiServers'));
