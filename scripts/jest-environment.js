/**
 * The environment of all tests: jest's environment for Node, with fast globals.
 *
 * In jest's own context, each use of a global (`Buffer`, `JSON`, `Map`) calls a JavaScript proxy.
 * The tests of the JSON scanner spend 40 % of their CPU time there. This context has a plain global
 * object. Each test file has its own context, as before.
 */
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

export default class FastGlobals extends TestEnvironment {
  constructor(config, context) {
    // jest's constructor calls this function once, and has no option for its argument.
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}
