# ruff: noqa: E501 - tables
"""Postal addresses as people write them in 26 countries, and texts with the same signs. The addresses of CA, AU, IN, IE, BE and
others hold forms that no rule knows: they say what is missed."""

from typing import Final

HOMES: Final[dict[str, tuple[str, str]]] = {
    "US": ("1600 Pennsylvania Ave NW, Washington, DC 20500", "350 5th Ave Apt 12B, New York, NY 10118"),
    "GB": ("221B Baker Street, London NW1 6XE", "Flat 4, 18 Rose Lane, Leeds LS1 4HR"),
    "CA": ("290 Bremner Blvd, Toronto, ON M5V 3L9", "1055 Rue Peel, Montréal, QC H3C 4R3"),
    "AU": ("48 Pirrama Road, Pyrmont NSW 2009", "12/7 Smith St, Fitzroy VIC 3065"),
    "DE": ("Am Alten Markt 3, 50667 Köln", "Hauptstr. 44, 80331 München"),
    "AT": ("Landstraßer Hauptstraße 8, 1030 Wien", "Getreidegasse 9, 5020 Salzburg"),
    "CH": ("Rue du Rhône 30, 1204 Genève", "Marktgasse 14, 3011 Bern"),
    "FR": ("8 bis avenue Foch, 75116 Paris", "45 cours Lafayette, 69003 Lyon"),
    "ES": ("C/ de Alcalá, 48, 28014 Madrid", "Avenida Diagonal 211, 08018 Barcelona"),
    "IT": ("Piazza del Duomo 1, 20122 Milano", "Corso Vittorio Emanuele 90, 10121 Torino"),
    "NL": ("Damrak 1, 1012 LG Amsterdam", "Lange Voorhout 8, 2514 ED Den Haag"),
    "PT": ("Avenida da Liberdade 110, 1250-146 Lisboa", "Rua do Carmo 12, 4050-164 Porto"),
    "BR": (
        "Av. Paulista, 1578 - Bela Vista, São Paulo - SP, 01310-200",
        "Rua Augusta, 500, apto 31, 01304-000 São Paulo",
    ),
    "PL": ("ul. Nowy Świat 15, 00-029 Warszawa", "os. Zgody 3/12, 31-949 Kraków"),
    "SE": ("Drottninggatan 71, 111 36 Stockholm", "Kungsgatan 10 lgh 1203, 411 19 Göteborg"),
    "JP": ("〒100-0005 東京都千代田区丸の内1-9-1", "東京都新宿区西新宿2-8-1 郵便番号163-8001"),
    "IN": ("14 MG Road, Bengaluru 560001", "Flat 5, Hill View, Bandra West, Mumbai 400050"),
    "BE": ("Rue Neuve 12, 1000 Bruxelles", "Meir 50, 2000 Antwerpen"),
    "DK": ("Strøget 14, 1160 København K", "Nørregade 7, 8000 Aarhus C"),
    "NO": ("Karl Johans gate 22, 0026 Oslo", "Storgata 5, 9008 Tromsø"),
    "FI": ("Mannerheimintie 10, 00100 Helsinki", "Hämeenkatu 3 A 12, 33100 Tampere"),
    "IE": ("12 Grafton Street, Dublin 2, D02 VF25", "3 Patrick St, Cork, T12 W8K7"),
    "CZ": ("Vodičkova 30, 110 00 Praha 1", "Masarykova 5, 602 00 Brno"),
    "MX": ("Av. Reforma 222, 06600 Ciudad de México", "Calle Hidalgo 15, Col. Centro, 44100 Guadalajara"),
    "KR": ("서울특별시 중구 세종대로 110, 04524", "부산광역시 해운대구 우동 1500"),
    "CN": ("北京市朝阳区建国路88号 100022", "上海市浦东新区世纪大道100号"),
}

NO_HOMES: Final = (
    "Rue de Rivoli was rebuilt in 1855",
    "The A4 runs from Paris 12 km east",
    "Section 12, 10969 entries were read",
    "Via Roma 2024 conference in Milano",
    "Model Kungsgatan 10, 411 19 units sold",
    "Main Street 5 years ago, 12345 people lived here",
    "Plaza 3000 has 200 shops",
    "ul. is short for unit load, 00-590 is a part",
    "5 Road trips in 2024",
    "Calle 13 played before 28013 fans",
    "Ring 3, 20122 hours",
    "Platz 4, 10115 Punkte",
    "Corso 90 grams, 10121 pieces",
    "building 7 floor 2, room 2009",
    "12 MG tablets, 560001 units",
    "Route 66, 12 states",
    "Allee 2, 1030 trees were planted",
    "Sunset Blvd (1950) runs 110 minutes",
    "GET /street/12/75002",
    "Bahnhof 7001 Uhr",
)
