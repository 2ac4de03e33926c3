"""Command-line programs that are known by name, each with the effects it has; what is unusual about one is a
rule in the other tables.

A row is read as: these programs do this. A program in several rows has the effects of all of them.
"""

from typing import Final

# Built into the shell: they change the shell itself, or print.
BUILT_IN: Final = frozenset(
    """
    : . [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown
    echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile
    popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true
    type typeset ulimit umask unalias unset wait autoload emulate functions print setopt unsetopt whence where
    zmodload zstyle deactivate bindkey compinit compdef vared rehash noglob nocorrect
    """.split()  # noqa: SIM905 - a table reads better as one
)

_TABLE: Final = {
    # Says something about the machine, the time, the user; computes; waits.
    "": """
        acpi apg apropos arch atop banner basename bc blkid btop cal calc cheat clear cmatrix cowsay
        cowthink cpuid date dc diceware dircolors dirname dmesg dmidecode echo envsubst expr factor false
        fastfetch figlet findmnt fortune free fuser getconf getent getopt gettext glances gp groups hostid
        hostname hostnamectl htop hwloc-ls id info infocmp inxi iostat ipcalc ipcs jobs last lastb lastlog
        locale locale-gen localectl loginctl logname lolcat lsb_release lsblk lscpu lsipc lslocks lslogins
        lsmem lsmod lsns lsof lspci lstopo lsusb man mathomatic maxima mesg mkpasswd mktemp mpstat ncal
        neofetch nettop ngettext nproc numactl numfmt nvidia-smi octave-cli osqueryi pathchk pgrep pidof
        pidstat pmap powertop printf ps pstree pwd pwdx pwgen qalc reset rocm-smi runlevel sar screenfetch
        sensors seq sipcalc sl slabtop sleep stty sw_vers sysinfo system_profiler systeminfo tabs tasklist
        test tic timedatectl tldr toe toilet top tput true tsort tty turbostat ulimit uname units upower
        uptime users uuidgen vmstat w watch whatis whereis which who whoami xdpyinfo xkcdpass xrandr xset
        yes zdump aa-status aureport ausearch bmon bootctl coredumpctl dstat dumpe2fs faillog getenforce
        getsebool gpustat hwinfo iotop lastcomm lshw lvdisplay lvs modinfo networkctl ntpstat numastat nvitop
        nvtop pvdisplay pvs quota repquota rfkill sestatus smartctl systemd-analyze systemd-cgls
        systemd-cgtop systemd-detect-virt systemd-escape udevadm vgdisplay vgs xfs_info iptables-save
        ip6tables-save lsinitramfs
    """,
    # Reads files and prints what it makes of them.
    "file-read": """
        ack actionlint addr2line ag alex antiword apt-cache apt-file apt-mark aspell awk b2sum bandit
        bandwhich base32 base64 basenc bat batcat bloaty brakeman bzcat bzgrep bzless bzmore c++filt cat
        catdoc cfn-lint chardet checkbashisms checkov checkstyle cksfv cksum clang-tidy cloc cmp codespell
        col colordiff colrm column comm conftest cosign cppcheck cpplint crane csplit csslint csvcut csvgrep
        csvjson csvlook csvsort csvsql csvstat ctags cut dasel datamash delta detect-secrets detekt df dhex
        diff diff3 diffstat difft dive docker-slim dotnet-dump dotnet-trace dpkg dpkg-deb dpkg-query du duf
        dust dwarfdump dwdiff egrep enca equery exa exiftool expand eza fd fdfind fgrep file find flawfinder
        fmt fold fzf gawk gcov genhtml getcap getfacl getfattr git-lfs gitk gitleaks glow gping gprof grep
        gron grype gzcat h5dump hadolint hcl2json hd head hexdump hexyl htmlhint htmlq hunspell icdiff iconv
        identify in2csv infer ispell javap jc jcmd jdeps jid jinfo jless jmap jo join journalctl jps jq
        js-beautify jsonlint jstack jstat kcov kdiff3 ktlint kube-score kubeconform kubeval lcov ldd less
        lessecho lesspipe licensee llvm-cov llvm-nm llvm-objdump llvm-profdata llvm-readelf locate look ls
        dir vdir lsattr lsd luacheck lz4cat lzcat lzgrep lzless lzma markdownlint mawk md5 md5sum mdfind mdl
        mdls mediainfo meld mlr more most msgcat msgfmt msgmerge namei nawk ncdu ncdump nix-instantiate
        nix-store nl nm objdump od oras otool pahole pandoc-citeproc par2verify paste pcre2grep pcregrep
        pdffonts
        pdfgrep pdfimages pdfinfo pdftotext phpcs phpmd phpstan pip-audit plutil pmd polaris pr proselint
        psalm ptx pv qlist qsv readelf readlink realpath reek rev rg rhash ripgrep rpm rpm2cpio rubocop-lint
        safety scancode scc sdiff sed semgrep sgrep sha1sum sha224sum sha256sum sha384sum sha512sum shasum
        shellcheck shuf size skopeo sonar-scanner sort soxi spell spotbugs sqlformat stat strings stylelint
        sum swiftlint syft tac tail tflint tfsec tidy tig tokei tomlq tr tree trivy trufflehog typos
        uchardet ugrep unexpand uniq unxz unzstd vale vd view vimdiff visidata wasm-objdump wasm2wat wc
        wdiff write-good xgettext xmllint xmlstarlet xq xsv xxd xxh64sum xxhsum xzcat xzgrep xzless yamllint
        yq zcat zcmp zdiff zegrep zfgrep zgrep zless zmore zstdcat zstdgrep
    """,
    # Makes, changes or moves files.
    "file-write": """
        7z 7za 7zr a2ps aclocal age ansible-vault antlr4 ar arj asciidoc asciidoctor atomicparsley aubio
        augtool autoconf autoflake autoheader automake autopep8 autoprefixer autoreconf autoscan babel
        barcode bear biome bison black blender bunzip2 bzip2 cabextract chafa chattr chgrp chmod chown circo
        clang-format clean-css cmark coffee compiledb compress config.status convert cookiecutter copier cp
        cpio crudini cscope csso csvclean csvformat csvjoin csvstack ctags-universal cwebp darktable-cli
        dconf dcraw dd defaults degit detox ditaa djvups docusaurus dos2unix dot doxygen dvc dvipdf dvips
        dwebp eleventy enscript epubcheck eqn esbuild eslint etags ex exiftran exiv2 eyed3 fallocate
        fc-cache fc-list fc-match fdp ffmpeg ffprobe flac flake8 flex fluidsynth fop gcc-ar gengetopt
        genisoimage ghostscript gif2webp gifsicle gitbook gmic gnuplot godoc gofmt gofumpt goimports
        golangci-lint gource gperf gpg-zip graphviz groff gs gsettings gtags gunzip gzip handbrakecli
        heif-convert help2man hexo html-minifier hugo hygen id3v2 imagemin img2pdf indent inkscape install
        intercept-build isort jarsigner javadoc jekyll jpeginfo jpegoptim jpegtran jsdoc jupytext lame
        latexmk lessc lex libtool libtoolize lilypond link ln lrzip lsar lualatex lz4 lzip lzmadec lzop m4
        magick mandb mdbook mermaid metaflac mkdir mkdocs mkfifo mkisofs mknod mksquashfs mkvextract
        mkvmerge mkvpropedit mmdc mogrify montage mp3gain mp4box msgen musescore mv mypy nbconvert
        nbstripout neato nikola normalize nroff ocrmypdf oggenc openapi-generator openapi-generator-cli
        optipng opusenc pandoc papermill parcel patch pdfcrop pdfjam pdflatex pdftk pdftoppm pdfunite
        pelican perltidy pg_format pic pigz pkg-config pkgconf plantuml plop pngcheck pngcrush pngquant
        postcss potrace prettier protoc ps2pdf psnup pycodestyle pydocstyle pyflakes pylint pyright
        pyupgrade qpdf qrencode quicktype rage ranlib rar rdoc re2c recode rename rmdir rollup rsvg-convert
        rubberband rubocop ruff rustdoc rustfmt sass sassc saxon scour setfattr sfdp sharp shfmt snowpack
        sops sox sphinx-apidoc sphinx-build sphinx-quickstart split sponge standard strip stylus svgo svgr
        swagger-codegen swc tailwindcss tar tbl tee terser tesseract tex texi2dvi texi2pdf texindex timidity
        touch troff truncate ts-standard tsc twopi typedoc uglifyjs unar uncompress unix2dos unlink unlz4
        unlzma unrar unsquashfs unzip updatedb vim-addon-manager vips vite vorbiscomment wasm-opt wat2wasm
        webp webpack wkhtmltoimage wkhtmltopdf x264 x265 xdg-mime xdg-settings xelatex xmlto xorriso
        xsltproc xz yacc yapf yard yo zbarimg zip zipcloak zipnote zipsplit zola zopfli zpaq zstd zstdmt
    """,
    # Starts other programs: builds, tests, runs, waits for changes.
    "process": """
        R accelerate air bacon bentoml check-jsonschema dask
        bibtex biber jar jdeprscan jlink jpackage keytool kpsewhich makeindex makeinfo mktexlsr
        deepspeed devcontainer eas fvm gomplate goreleaser
        ast-grep sg astyle cargo-nextest clazy cmake-format cmakelint cspell djhtml djlint doxygen erb-lint
        erb_lint flatc gcov gcovr gleam gluegun include-what-you-use iwyu_tool ktlint detekt lcov genhtml
        luacheck stylua markdownlint markdownlint-cli2 mdformat mdl nuxi oxfmt prove cover perltidy
        perlcritic phpcs phpcbf phpmd pint psalm rector infection pest sd selene scalafmt scalafix
        standardrb reek brakeman swiftlint textlint tokei uncrustify verible-verilog-lint yapf zizmor
        gosec govulncheck knip lefthook logger madge melos mitmdump mitmproxy mitmweb mockgen ollama oxlint
        pgbench pyproject-build ray size-limit sqlfluff sshd sst staticcheck supervisorctl swiftformat taplo
        torchrun tuist xcbeautify zenml dprint mysqlcheck mysqlshow mysqlslap
        VBoxManage aapt ab abduco act adb advisor airflow alembic alertmanager amplify amtool ansible
        ansible-doc ansible-galaxy ansible-inventory ansible-lint ansible-playbook ant apachectl apksigner
        aplay appium architect arecord argo argocd asciinema asdf astro async-profiler atlas atom auditwheel
        auto ava avdmanager b2 backstop basedpyright bats bazel bazelisk behave bind blacken-docs bmake
        bombardier bonnie++ boundary box64 bpython buck buck2 buf buildah buildctl bump-my-version
        bump2version bumpversion bundle bundler bundletool bunx busted byobu c++ c89 c99 cabal caddy cap
        capacitor capistrano cargo-clippy cargo-fmt cc ccache ccmake cdk cdk8s cdktf celery chalice
        changeset check-manifest check-wheel-contents checkinstall chef chromatic chromedriver chromium chrt
        cibuildwheel circleci clang clang++ clippy-driver clojure cloud-init cmake cmake-gui code codecov
        codium colima commitizen commitlint concurrently consul containerd conventional-changelog copyfiles
        cordova coverage cpack cpp cpulimit cpx craco credo cross cross-env crun crystal csc ctest cucumber
        cvlc cypress cz dagster daphne dart dbmate dbt debuild delocate-wheel deptry devspace dialyzer
        diesel direnv disown distcc django-admin dlv dmd dmypy docformatter docker-compose docker-machine
        dotenv dotenvx dotnet dpkg-buildpackage draft dramatiq drizzle-kit dtach dune dx earthly edit eksctl
        anvil atlas cast chisel forge goose knex prisma sequelize sequelize-cli sqlx typeorm
        electron electron-builder electron-forge elixir elm emacs emacsclient ember emulator entr env eog
        erl erlc espeak etcdctl evince expo f2py fab fastboot fastlane feh ffplay filebeat fio firefox
        flamegraph flameshot flask flink flit flow flower fluentd flutter flux fluxctl flyway fnm foreman
        forever g++ garden gatling gatsby gcc gdb geckodriver gedit getopts gfortran gh-ost ghc ghci gimp
        cython cythonize gio git-cliff gmake go goenv google-chrome goose goss gotestsum gradio gradle
        gradlew grafana-cli
        great_expectations grim groovy grunt gulp gunicorn gvfs-open hadoop haproxy hash hasura hatch
        hatchling haxe hdfs helix helmfile hererocks hey hive httpd huey husky hx hypercorn hyperfine
        hypothesis iex img import-linter imv influx initdb inspec interrogate inv invoke ionic ionice iozone
        ipdb ipython istioctl jake jasmine java javac jed jenv jest jfr jib jmeter joe jshell juju julia
        jupyter jupyter-lab jupyter-notebook just k3d k3s k6 k9s kafka-console-consumer kafka-topics
        kafka-topics.sh kak kaniko karma kate kedro keystone kill killall kind kitchen knex knife ko kompose
        kops kotlin kotlinc krew kubeadm kubectx kubens kubeseal kustomize kwrite lein lerna libreoffice
        lighthouse lima limactl linkerd lint-imports lint-staged liquibase lit lldb localc locust logstash
        lowriter ltrace luajit luarocks luigi mage maim make makepkg manage.py maturin mcedit memcached
        memray meson meteor metricbeat micro microk8s migrate mill mina minikube mise mix mkdirp mlflow
        mocha molecule mongod mousepad mpg123 mplayer mpv msbuild multipass mupdf mutmut mvn mvnw mysqld n
        nano napi nasm nbdime nbqa ncu ne neon nest next nextflow ng ng-packagr nginx nice nim nimble ninja
        nixpacks node-gyp node-pre-gyp nodeenv nodejs nodemon nohup nomad nose2 nosetests notepad
        notify-send nox np npm-run-all npx nsys nuxt nvcc nvim nvm nx nyc oc ocaml ocamlfind ocamlopt octant
        odo oha okteto okular opam open osascript overmind pa11y pack packer panel pants paplay parallel
        pbcopy pbpaste pdb pdm percy perf pg_ctl php-cs-fixer phpunit pico pidwait pip-compile pip-licenses
        pip-sync pipdeptree pipenv pipreqs pkill play playwright pluma pm2 podman-compose poetry popeye
        postgres pprof pre-commit prefect premake5 prisma procs prometheus promtool protoc-gen-go
        pt-online-schema-change ptpython pudb puppet puppeteer py-spy py.test pydeps pyenv pyinstaller
        pyment pyre pyroma pyspark pytest python-config pytype qemu-img qemu-system-aarch64
        qemu-system-x86_64 qmake quarkus rabbitmqctl radon rails rake rancher rbenv react-scripts rebar3
        redis-server refurb release-it remix renice rimraf rocprof rq rspec run-parts runc rust-analyzer
        rust-gdb rustc rustup rvm sails salt salt-call salt-ssh sam say sbt scala scalac scalene scons
        screen script scriptreplay scrot sdk sdkman sdkmanager see selenium-side-runner semantic-release
        sequelize serverless serverspec setsid shake siege simctl skaffold skeema sls snakemake soffice solr
        spark-shell spark-submit spd-say sphinx-autobuild spring sqitch sqlc sqlx stack standard-version
        start stdbuf stern storybook strace strapi streamlit subl supabase supervisord svelte-kit swc-node
        swift swiftc sxiv sysbench tap task tasks taskset tauri tcc telegraf telepresence tensorboard
        terragrunt terraspace testcafe tfenv tilt time timeout tkn tmux towncrier tox traefik trunk ts-jest
        ts-node ts-node-dev tsd tsup tsx ttyrec turbo twine twistd ty typeorm umoci unoconv up uvicorn uvx
        vagrant valgrind varnishd vault vector vegeta velero venv vhs vi vim virsh virt-install virtualenv
        vitest vlc voila volta vtune vue vue-cli-service vulture waf waitress-serve wall wandb wasm-bindgen
        wasm-pack wasmer wasmtime watchexec watchman watchmedo waypoint webpack-cli webpack-dev-server wine
        wl-copy wl-paste wmctrl write wrk xargs xclip xcodebuild xcrun xctool xdg-email xdg-open xdotool
        xenon xmake xo xpdf xsel xvfb-run yasm zappa zathura zellij zig zipalign zkCli.sh zprint
    """,
    # Reaches other machines.
    "network": """
        calicoctl cilium huggingface-cli hf kubetail pg_basebackup talosctl
        acme.sh act_runner akamai aliyun amass arc aria2c arp arping aws aws-vault axel az azcopy berglas
        borg bq buildkite-agent bw bx bzr certbot cf chronyc clickhouse-client cqlsh createdb createuser
        crictl ctr curl curlie cvs darcs datadog-ci datasette dig docker doctl dog doggo doh dredd drill
        drone duckdb duplicity eb elinks ethtool evans exo fast fastly finger firebase fly flyctl fossil
        fping ftp gallery-dl gcloud gerrit gh ghz git git-review gitlab-runner glab gopass gpg gpg2 grpc_cli
        grpcurl gsutil scrapy hcloud helm heroku hg honeycomb host http httpie httping https hub hurl ibmcloud
        iftop incus influx inso insomnia iperf iperf3 ipfs iredis irssi iw iwconfig jenkins-cli jira jj
        kafkacat kcat keyring kopia kubectl lego lftp links links2 linode-cli litecli lpass lxc lxd lynx mc
        minio-client mkcert mongodump mongoexport mongoimport mongorestore mongosh mosh mosquitto_pub
        mosquitto_sub mqtt mtr mtr-tiny mycli mysql mysqladmin mysqldump mysqlimport nats nerdctl nethogs
        netlify netstat newman newrelic nload nslookup ntpq oci op p4 pass pass-otp pastebinit pg_dump
        pg_dumpall pg_isready pg_restore pgcli ping ping6 pingsweep podman postman presto prism psql pulumi
        railway rdiff-backup redis-cli redocly reindexdb render repo resolvectl restic rsnapshot s3cmd s5cmd
        schemathesis scutil scw secret-tool security sentry-cli sl snowsql soapui-cli spectral speedtest
        speedtest-cli spotdl spr sqlite-utils sqlite3 ss ssh-add ssh-agent ssh-keygen ssh-keyscan sslscan
        sslyze step stripe surge svn systemd-resolve tccli tcping tcptraceroute tea telnet terraform testssl
        testssl.sh tftp tofu torsocks tracepath traceroute traceroute6 transmission-cli travis trino twilio
        usql vacuumdb vercel vultr-cli w3m websocat weechat wget wget2 whois wrangler wscat xh youtube-dl
        yt-dlp
    """,
    # Fetches packages and installs them.
    "process network": """
        antigen apk apt apt-get aptitude brew bun bundle cargo cargo-binstall carthage choco composer conan
        conda conda-build conda-lock corepack cpan cpanm cpm devbox dnf easy_install emerge eopkg fisher
        flatpak flox gem guix luarocks mamba microdnf micromamba mint nala ni nix nix-build nix-env
        nix-shell nixos-rebuild npm nuget oh-my-zsh opam pacman paket paru pdm pip pip3 pipenv pipx pixi pkg
        pkg_add pkgin pkgx pnpm pod poetry port rpm-ostree rye sbopkg scoop slackpkg snap spack stack swupd
        tdnf tlmgr topgrade tpm urpmi uv vcpkg vim-plug winget xbps-install yarn yay yum zinit zypper
    """,
}


def _effects_by_name() -> dict[str, frozenset[str]]:
    made: dict[str, frozenset[str]] = {}
    for effects, names in _TABLE.items():
        for name in names.split():
            made[name] = made.get(name, frozenset()) | frozenset(effects.split())
    return made


PROGRAMS: Final = _effects_by_name()
