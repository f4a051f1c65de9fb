// The decoder of KTX2 textures without code that it writes itself, so that the page may forbid that to everybody.
//
// The decoder's glue (Emscripten's embind) builds two kinds of functions from text. Here they become closures that do the
// same; a version of the decoder that looks different fails the build instead of the page.

import type { Plugin } from "vite";

/** Replacements: from the text of a function, or of its arguments, to the function itself. */
const REPLACED: [string, string][] = [
  [
    "let[args,invokerFnBody]=createJsInvoker(argTypes,isClassMethodFunc,returns,isAsync);args.push(invokerFnBody);" +
      "var invokerFn=newFunc(Function,args)(...closureArgs);",
    `var invokerFn = function (...given) {
      if (given.length !== argCount - 2) {
        throwBindingError(\`function \${humanName} called with \${given.length} arguments, expected \${argCount - 2}\`);
      }
      var destructors = needsDestructorStack ? [] : null;
      var first = isClassMethodFunc ? 1 : 2;
      var wired = (isClassMethodFunc ? [this, ...given] : given).map((value, i) => argTypes[first + i].toWireType(destructors, value));
      var answer = cppInvokerFunc(cppTargetFunc, ...wired);
      if (destructors) runDestructors(destructors);
      else wired.forEach((value, i) => argTypes[first + i].destructorFunction?.(value));
      if (returns) return argTypes[0].fromWireType(answer);
    };`,
  ],
  [
    "var invokerFunction=newFunc(Function,params)(...args);",
    `var invokerFunction = function (object, func, destructorsRef, at) {
      var values = types.map((type) => {
        var value = type.readValueFromPointer(at);
        at += type.argPackAdvance;
        return value;
      });
      if (kind === 0) values.unshift(object);
      var answer = kind === 1 ? reflectConstruct(func, values) : func.call(...values);
      if (!retType.isVoid) return emval_returnValue(retType, destructorsRef, answer);
    };`,
  ],
];

/** Rewrites the decoder among the files of the page. */
export function plainDecoder(): Plugin {
  return {
    name: "plain-decoder",
    apply: "build",
    generateBundle(_options, bundle) {
      const decoders = Object.values(bundle).filter((file) => /basis_transcoder[^/]*\.js$/.test(file.fileName));
      if (decoders.length !== 1) this.error(`there are ${decoders.length} decoders of KTX2 textures, not one`);
      for (const file of decoders) {
        if (file.type !== "asset") this.error("the decoder of KTX2 textures is no file of its own");
        let text = typeof file.source === "string" ? file.source : new TextDecoder().decode(file.source);
        for (const [before, after] of REPLACED) {
          if (text.split(before).length !== 2) this.error(`the decoder of KTX2 textures has changed: no “${before.slice(0, 60)}…”`);
          text = text.replace(before, () => after);
        }
        if (text.includes("newFunc(Function")) this.error("the decoder of KTX2 textures still writes functions of its own");
        file.source = text;
      }
    },
  };
}
