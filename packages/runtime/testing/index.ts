export { startScriptedServer } from './scripted-server.ts';
