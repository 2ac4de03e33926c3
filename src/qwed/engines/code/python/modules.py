"""Modules that are well known, by the name they are imported by: the standard library and common packages."""

import sys
from typing import Final

_REMOVED: Final = """
    asynchat asyncore cgi cgitb commands cPickle crypt distutils imghdr imp mailcap md5 msilib nntplib
    ossaudiodev pipes popen2 sha smtpd sndhdr spwd sunau telnetlib uu xdrlib urllib2 urlparse httplib
    ConfigParser Queue StringIO cStringIO __builtin__ Tkinter
"""
_PACKAGES: Final = """
    absl aiobotocore aiofiles aiogram aiohttp aiomysql aiopg aioredis aiosqlite airflow alembic altair amqp
    anthropic anyio apscheduler argon2 arrow arviz asgiref astropy asyncpg asyncssh attr attrs authlib autogen
    av azure babel backoff bcrypt beanie beautifulsoup4 behave billiard bitarray black bleach blinker blosc
    bokeh boto boto3 botocore bottle branca bs4 cachetools cairosvg captum cartopy cassandra catboost celery
    cerberus certifi cffi channels chardet charset_normalizer cherrypy chess chromadb cleo click cloudpickle
    cmdstanpy coconut cohere colorama coloredlogs colorlog conda configobj consul coverage crewai crispy_forms
    croniter crontab Crypto Cryptodome cryptography cssselect cupy cv2 cvxpy cycler Cython cython dash
    dask databases dataset datasets dateparser dateutil datadog dbt deap debugpy decouple deepdiff deepspeed
    defusedxml dgl diagrams dicttoxml diffusers dill discord distributed django dns docker docopt docutils
    docx dotenv drf_yasg duckdb dulwich easyocr ecdsa editdistance einops elasticsearch email_validator
    emoji environ evaluate eventlet execjs factory faiss faker falcon fastai fastapi fastavro fasttext
    feedparser filelock findspark fiona fire firebase_admin flake8 flask flask_admin flask_bcrypt
    flask_caching flask_cors flask_jwt_extended flask_limiter flask_login flask_mail flask_marshmallow
    flask_migrate flask_restful flask_socketio flask_sqlalchemy flask_wtf flax folium fontTools freezegun
    frozendict fsspec ftfy furl fuzzywuzzy gensim geopandas geopy gevent ggplot git github gitlab gluonts
    google googleapiclient googlemaps gpiozero gradio graphene graphql graphviz greenlet grpc gspread gtts
    gunicorn gym gymnasium h11 h2 h3 h5py haystack holidays holoviews html5lib httplib2 httptools httpx
    huggingface_hub humanize hvac hvplot hydra hypercorn hyperopt hypothesis icalendar idna igraph imageio
    imapclient imblearn imgaug implicit importlib_metadata importlib_resources influxdb influxdb_client
    instructor invoke ipdb ipykernel IPython ipywidgets isodate isort itsdangerous jax jaxlib jieba jinja2
    jira jmespath joblib jose json5 jsonpatch jsonpath_ng jsonpickle jsonschema jupyter jwt kafka keras
    keyboard keyring kivy kombu kornia kubernetes langchain langchain_community langchain_core
    langchain_openai langdetect langgraph launchdarkly ldap ldap3 lightgbm elementpath fabric
    invoke urllib3 pycurl psutil podman lightning line_profiler litellm
    litestar llama_index locust loguru lxml lz4 magic mako markdown markdown_it markupsafe marshmallow
    matplotlib mechanize memcache minio missingno mistralai mistune mlflow mmh3 mock modin mongoengine
    moto moviepy mpmath msgpack msgspec mss multidict munch mutagen mygene mypy mysql MySQLdb natsort
    nats ndjson neo4j netaddr netifaces networkx newspaper nltk nose notion_client np npm numba numexpr
    numpy numpyro oauthlib odfpy ollama onnx onnxruntime openai opencv opentelemetry openpyxl optax optuna
    oracledb orjson ormar oslo ot oyaml packaging paho pandas pandas_datareader pandera panel papermill
    paramiko parse parsel passlib patsy pathspec pd pdf2image pdfkit pdfminer pdfplumber peewee pendulum
    peft pexpect phonenumbers pickle5 PIL pika pinecone pip pipenv pkg_resources platformdirs playwright
    plotly plotnine pluggy polars pony portalocker praw prefect pretty_midi prettytable prometheus_client
    prompt_toolkit prophet psutil psycopg psycopg2 psycopg_pool ptyprocess pulp py py4j pyarrow pyautogui
    pybind11 pycountry pycparser pycurl pydantic pydantic_settings pydicom pydot pydub pyfiglet pygame
    pygit2 pyglet pygments pyinotify pylab pylint pymc pymongo pymssql pymysql pynput pyodbc pyparsing
    pypdf PyPDF2 pypdfium2 pyperclip pyphen pyproj PyQt5 PyQt6 PySide2 PySide6 pyro pyrogram pyspark
    pysftp pyshark pysnmp pystache pytesseract pytest pytest_asyncio pytest_mock python_multipart pythoncom
    pytorch_lightning pytube pytz pyvis pyvista pywintypes qdrant_client qiskit qrcode quart rapidfuzz
    rasterio ratelimit ray rdflib readability redis redshift_connector regex reportlab requests
    requests_html requests_mock requests_oauthlib requests_toolbelt responses respx retry retrying rich
    robot rq rsa ruamel ruff s3fs s3transfer sacrebleu sanic scapy schedule schema scikit_learn scipy
    scrapy seaborn selenium sendgrid sentence_transformers sentencepiece sentry_sdk serial setproctitle
    setuptools shap shapely shortuuid shutilwhich signalfx simplejson simpy six skimage sklearn slack
    slack_bolt slack_sdk slugify smart_open smbclient snowflake socketio socks sortedcontainers soundfile
    spacy speech_recognition sphinx spotipy sqlalchemy sqlglot sqlmodel sqlparse sshtunnel starlette
    statsmodels stem streamlit stripe structlog strawberry subprocess32 supabase surprise sympy tables
    tablib tabula tabulate telebot telegram telethon tenacity tensorboard tensorflow termcolor testcontainers
    testfixtures textblob textdistance texttable textual thefuzz threadpoolctl tiktoken timm tinycss2
    tinydb tld tldextract tokenizers toml tomli tomlkit toolz torch torch_geometric torchaudio torchmetrics
    torchtext torchvision tornado tortoise tqdm traitlets transformers trimesh trio trl tweepy twilio
    twisted typeguard typer typing_extensions typing_inspect tzlocal ujson umap undetected_chromedriver
    unidecode unstructured uvicorn uvloop validators vcr vertexai vibora vincent virtualenv vllm voluptuous
    waitress wandb watchdog watchfiles weasyprint weaviate web web3 webcolors webdriver_manager websocket
    websockets werkzeug wget wheel whisper whitenoise whoosh wikipedia win32api win32com win32con win32gui
    wordcloud wrapt ws4py wsgi wtforms wx xarray xgboost xhtml2pdf xlrd xlsxwriter xlwings xlwt xmlschema
    xmltodict xxhash yahoo_fin yaml yarl yfinance youtube_dl yt_dlp zeep zmq zope zstandard
    qwed boltons cattrs dependency_injector cosmosdb stix2 pymisp pwn impacket angr shodan python_jwt
    jks pyotp onetimepass pyzbar zxcvbn ldapdb xmlsec signxml saml2 onelogin social_core oauth2client
    flask_session flask_talisman secure bandit safety semgrep cairo gi dbus pyudev usb bluetooth RPi smbus
    board machine micropython utime urequests network ubinascii hvplot pymupdf fitz camelot
"""
_KNOWN: Final = sys.stdlib_module_names | frozenset((_REMOVED + _PACKAGES).split())


def is_known_module(name: str) -> bool:
    """A module whose powers are known by its name, or a file of the program's own package."""
    return name.startswith(".") or name.partition(".")[0] in _KNOWN
