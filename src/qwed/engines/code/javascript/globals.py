"""Names that a JavaScript program finds without declaring them, and the packages that are well known."""

from typing import Final

_LANGUAGE: Final = """
    AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error
    EvalError FinalizationRegistry Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array
    Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set
    SharedArrayBuffer String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array
    Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly decodeURI decodeURIComponent encodeURI
    encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape
"""
_EVERYWHERE: Final = """
    AbortController AbortSignal Blob BroadcastChannel CompressionStream CustomEvent DOMException
    DecompressionStream Event EventTarget File FormData Headers MessageChannel MessageEvent MessagePort
    Performance ReadableStream Request Response TextDecoder TextDecoderStream TextEncoder TextEncoderStream
    TransformStream URL URLSearchParams WebSocket WritableStream atob btoa clearImmediate clearInterval
    clearTimeout console crypto fetch navigator performance queueMicrotask setImmediate setInterval setTimeout
    structuredClone
"""
_NODE: Final = "Buffer __dirname __filename exports global module process require Deno Bun"
_TESTS: Final = "afterAll afterEach after before beforeAll beforeEach describe expect it jest test vi cy"
_PAGE: Final = """
    $ Audio CSS DOMParser Element EventSource FileReader HTMLCanvasElement HTMLElement HTMLImageElement
    HTMLInputElement History Image IntersectionObserver KeyboardEvent Location MouseEvent MutationObserver
    Node NodeList Notification Option Path2D RTCPeerConnection ResizeObserver Screen Selection ServiceWorker
    SharedWorker Storage Text Touch UIEvent WebGLRenderingContext Window Worker XMLHttpRequest XMLSerializer
    alert blur caches cancelAnimationFrame chrome close closed confirm customElements document find focus
    frames getComputedStyle getSelection history importScripts indexedDB innerHeight innerWidth jQuery
    localStorage location matchMedia moveTo name open opener origin parent postMessage print prompt
    requestAnimationFrame requestIdleCallback screen scroll scrollBy scrollTo self sessionStorage stop top
    window React ReactDOM Vue _ axios d3 moment
"""
_GLOBALS: Final = frozenset((_LANGUAGE + _EVERYWHERE + _NODE + _TESTS + _PAGE).split())
# Words of English too: alone they do not show that a text is JavaScript.
_COMMON_WORDS: Final = frozenset(
    [
        "name",
        "open",
        "close",
        "closed",
        "find",
        "focus",
        "blur",
        "stop",
        "print",
        "parent",
        "top",
        "screen",
        "history",
        "origin",
        "self",
        "status",
        "event",
        "after",
        "before",
        "it",
        "test",
        "expect",
        "describe",
        "scroll",
        "after",
        "frames",
    ]
)


def is_known(name: str) -> bool:
    """Whether a name that the text does not declare is there all the same, in a page or in a program."""
    return name in _GLOBALS and name not in _COMMON_WORDS


_NODE_MODULES: Final = """
    assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
    diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector module net os
    path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl sqlite
    stream stream/promises stream/web string_decoder sys test timers timers/promises tls trace_events tty url
    util util/types v8 vm wasi worker_threads zlib
"""
_PACKAGES: Final = """
    @angular/common @angular/core @angular/router @apollo/client @apollo/server @auth0/auth0-react
    @aws-sdk/client-dynamodb @aws-sdk/client-ec2 @aws-sdk/client-lambda @aws-sdk/client-s3
    @aws-sdk/client-secrets-manager @aws-sdk/client-ses @aws-sdk/client-sns @aws-sdk/client-sqs
    @aws-sdk/lib-dynamodb @aws-sdk/s3-request-presigner @azure/identity @azure/storage-blob @babel/core
    @babel/parser @emotion/react @emotion/styled @faker-js/faker @google-cloud/bigquery @google-cloud/pubsub
    @google-cloud/storage @hapi/hapi @headlessui/react @heroicons/react @hookform/resolvers @jest/globals
    @mui/icons-material @mui/material @nestjs/common @nestjs/config @nestjs/core @nestjs/jwt @nestjs/swagger
    @nestjs/testing @nestjs/typeorm @octokit/rest @playwright/test @prisma/client @radix-ui/react-dialog
    @reduxjs/toolkit @remix-run/node @remix-run/react @sendgrid/mail @sentry/node @sentry/react
    @slack/bolt @slack/web-api @stripe/react-stripe-js @stripe/stripe-js @supabase/supabase-js
    @sveltejs/kit @tanstack/react-query @tanstack/react-table @testing-library/jest-dom
    @testing-library/react @testing-library/user-event @trpc/client @trpc/server @types/node
    @typescript-eslint/parser @vitejs/plugin-react @vue/test-utils acorn adm-zip aedes ajv amqplib angular
    ansi-colors
    apollo-server archiver argon2 async autoprefixer aws-sdk axios babel-core bcrypt bcryptjs big.js
    bignumber.js
    bluebird body-parser bootstrap boxen bree browserify bull bullmq busboy bunyan chai chalk chart.js cheerio
    chokidar class-transformer class-validator classnames cli-progress cli-table3 clsx colors commander
    compression concurrently config connect-redis convict cookie cookie-parser cookie-session cors cron
    cron-parser cross-env cross-fetch cross-spawn crypto-js csrf csurf csv csv-parse csv-parser csv-stringify
    cypress d3 d3-array d3-scale date-fns date-fns-tz dayjs debug decimal.js dedent deepmerge del discord.js
    dockerode dompurify dotenv dotenv-expand download ejs electron elasticsearch ember enquirer enzyme esbuild
    escape-html eslint eta execa exceljs express express-async-handler express-rate-limit express-session
    express-validator fast-csv fast-deep-equal fast-glob fast-xml-parser fastify ffmpeg-static file-saver
    file-type firebase firebase-admin firebase/app firebase/auth firebase/firestore fluent-ffmpeg form-data
    formidable formik framer-motion fs-extra fuse.js get-port glob globby google-auth-library googleapis got
    graphql graphql-request graphql-tag grpc gulp gulp-sass gunzip-maybe handlebars hbs helmet highlight.js
    history hoist-non-react-statics hono http-errors http-proxy http-proxy-middleware http-status-codes
    i18next
    iconv-lite immer immutable inquirer ioredis ip isomorphic-fetch jasmine jest jimp joi jose jquery
    js-cookie js-yaml jsdom json5 jsonpath jsonschema jsonwebtoken jszip jwks-rsa jwt-decode kafkajs keyv
    knex koa koa-body koa-router lit lodash lodash-es lodash.debounce lodash.get lodash.isequal lodash.merge
    log4js loglevel lowdb lru-cache lucide-react luxon mailgun.js mariadb markdown-it marked material-ui
    mathjs memjs meow method-override micro micromatch mime mime-types minimatch minimist mitt mkdirp mobx
    mocha mocha-each mochawesome moment moment-timezone mongodb mongoose morgan mqtt ms msgpackr mssql multer
    mustache mysql mysql2 mysql2/promise nanoid nats nedb needle neo4j-driver next next-auth next/head
    next/image next/link next/navigation next/router next/server nock node-cache node-cron node-fetch
    node-forge node-gyp node-notifier node-schedule nodemailer nodemon npm-run-all numeral nunjucks nuxt
    oauth octokit ol openai openid-client ora p-limit p-map p-queue p-retry papaparse parcel parse5 passport
    passport-google-oauth20 passport-jwt passport-local path-to-regexp pdf-lib pdf-parse pdfkit pg pg-pool
    pg-promise phaser pino pino-http pinia playwright pm2 polka postcss preact prettier prisma prom-client
    prompts prop-types proxy-agent pug puppeteer pusher qrcode qs query-string ramda random raw-body
    rate-limiter-flexible react react-bootstrap react-dom react-dom/client react-dom/server react-helmet
    react-hook-form react-hot-toast react-i18next react-icons/fa react-native react-query react-redux
    react-router react-router-dom react-select react-table react-test-renderer react-toastify recharts redis
    redux redux-saga redux-thunk reflect-metadata regenerator-runtime request request-promise
    require-directory reselect resend rimraf rollup rxjs rxjs/operators sanitize-html sass semver sequelize
    serve-static sharp shelljs shortid simple-git sinon slugify snowpack socket.io socket.io-client solid-js
    sql.js sqlite sqlite3 sqlstring ssh2 stripe styled-components superagent supertest svelte svgo
    swagger-jsdoc
    swagger-ui-express swiper swr systeminformation tailwind-merge tailwindcss tar temp terser three through2
    tiny-invariant tinycolor2 toml tough-cookie ts-node tslib twilio twitter-api-v2 type-fest typeorm
    typescript ua-parser-js uglify-js ulid underscore undici unified unzipper uuid v8-compile-cache validator
    vite vitest vue vue-router vuex web-push web3 webpack webpack-dev-server winston ws xlsx xml2js xmlbuilder
    yaml yargs yauzl yup zod zustand ethers bitcoinjs-lib react-markdown remark rehype node-serialize vm2
    serialize-to-js bs58 keytar active-win iohook robotjs clipboardy nodegit isomorphic-git
    libxmljs ldapjs node-ssh ftp basic-ftp ssh2-sftp-client imap mailparser socks tunnel ngrok localtunnel
    sudo-prompt node-windows auto-launch systray tree-kill ps-node find-process ps-list kill-port
    bottleneck piscina threads workerpool snarkjs is-odd left-pad paypal-rest-sdk @paypal/checkout-server-sdk
    square braintree @google-cloud/compute @azure/arm-compute @aws-sdk/client-ecs
"""
_MODULES: Final = frozenset((_NODE_MODULES + _PACKAGES).split())


def is_known_module(name: str) -> bool:
    """A module of Node, a well-known package or part of one, or a file of the program's own tree."""
    if name.startswith((".", "/", "@/", "~/", "#")) or name in _MODULES:
        return True
    parts = name.split("/")
    package = "/".join(parts[:2]) if name.startswith("@") else parts[0]
    return package in _MODULES
